import { byteLength, type DType, dtypeInfo, TensorjarError } from "@tensorjar/core";
import { describe, shapeText } from "@tensorjar/core/codec";

/**
 * What to take along each axis, as NumPy reads it: `null` all of it, a number one index (the axis is dropped; negative
 * ones count from the end), or a range with `step` from 1. Axes that are not mentioned are taken whole.
 */
export type Selection = readonly (
  | null
  | number
  | { readonly start?: number; readonly stop?: number; readonly step?: number }
)[];

/** Past this many ranges the list itself would be a burden. */
const maxRanges = 10_000_000;

/** Indices `start`, `start + step`, … along one axis. */
interface Axis {
  readonly dim: number;
  readonly start: number;
  readonly count: number;
  readonly step: number;
}

/**
 * The byte ranges of a selection from a C-order array, ascending and not adjoining, counted from the start of its
 * data, and the shape they make. Throws `invalid-argument` for an index, range or step that the array does not have,
 * `unsupported` where packed elements do not start at a byte, `limit-exceeded` past 10,000,000 ranges.
 */
export function sliceByteRanges(
  dtype: DType,
  shape: readonly number[],
  selection: Selection,
): { ranges: [begin: number, end: number][]; shape: number[] } {
  byteLength(dtype, shape); // throws for what is no shape
  if (!Array.isArray(selection) || selection.length > shape.length) {
    throw new TensorjarError(
      "invalid-argument",
      `a selection for the shape ${shapeText(shape)} is ${Array.isArray(selection) ? `${selection.length} axes long` : describe(selection)}`,
      { hint: "give one of null, a number or { start, stop, step } for each axis" },
    );
  }
  const axes = shape.map((dim, axis) => axisOf(dim, selection[axis] ?? null, axis));
  const result = axes
    .filter((_, axis) => typeof selection[axis] !== "number")
    .map(({ count }) => count);
  return { ranges: rangesOf(axes, dtypeInfo(dtype).bits, dtype), shape: result };
}

function axisOf(dim: number, selected: Selection[number], axis: number): Axis {
  if (selected === null) return { dim, start: 0, count: dim, step: 1 };
  if (typeof selected === "number") {
    const start = selected < 0 ? selected + dim : selected;
    if (!Number.isInteger(start) || start < 0 || start >= dim) {
      throw refused(axis, `index ${selected}`, `an axis of ${dim}`);
    }
    return { dim, start, count: 1, step: 1 };
  }
  if (typeof selected !== "object")
    throw refused(axis, describe(selected), "null, a number or a range");
  const { start = 0, stop = dim, step = 1 } = selected;
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(stop)) {
    throw refused(axis, `a range from ${start} to ${stop}`, "integers");
  }
  if (!Number.isSafeInteger(step) || step < 1)
    throw refused(axis, `step ${step}`, "an integer from 1");
  const clamp = (index: number): number =>
    Math.min(Math.max(index < 0 ? index + dim : index, 0), dim);
  const first = clamp(start);
  return { dim, start: first, count: Math.max(0, Math.ceil((clamp(stop) - first) / step)), step };
}

function refused(axis: number, found: string, expected: string): TensorjarError {
  return new TensorjarError(
    "invalid-argument",
    `axis ${axis} of a selection is ${found}, which does not fit ${expected}`,
    {
      expected,
      actual: found,
    },
  );
}

function rangesOf(axes: readonly Axis[], bits: number, dtype: DType): [number, number][] {
  if (axes.some(({ count }) => count === 0)) return [];
  // From the last axis backwards: whole ones lie together, and so does a part of the next.
  const outer: { start: number; stride: number; count: number }[] = [];
  let stride = 1;
  let run = 1;
  let base = 0;
  let together = true;
  let total = 1;
  for (const { dim, start, count, step } of [...axes].reverse()) {
    if (together && (step === 1 || count === 1)) {
      run *= count;
      base += start * stride;
    } else {
      outer.unshift({ start: start * stride, stride: step * stride, count });
      total *= count;
    }
    together &&= count === dim;
    stride *= dim;
  }
  if (total > maxRanges) {
    throw new TensorjarError("limit-exceeded", `a selection of ${total} separate ranges`, {
      expected: maxRanges,
      actual: total,
      hint: "take whole rows, and select from them in memory",
    });
  }
  const ranges: [number, number][] = [];
  const index = outer.map(() => 0);
  for (let done = 0; done < total; done++) {
    const element = outer.reduce(
      (at, axis, k) => at + axis.start + (index[k] ?? 0) * axis.stride,
      base,
    );
    const begin = (element / 8) * bits; // exact: a division by 8 only moves the point
    const end = begin + (run / 8) * bits;
    if (!Number.isInteger(begin) || !Number.isInteger(end)) {
      throw new TensorjarError(
        "unsupported",
        `a selection of ${dtype} starts or ends inside a byte, at element ${element} of ${run}`,
        { hint: "take whole bytes, or the whole tensor" },
      );
    }
    ranges.push([begin, end]);
    for (let k = outer.length - 1; k >= 0; k--) {
      const next = (index[k] ?? 0) + 1;
      index[k] = next < (outer[k]?.count ?? 0) ? next : 0;
      if (index[k] !== 0) break;
    }
  }
  return ranges;
}
