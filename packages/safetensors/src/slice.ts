import { byteLength, type DType, dtypeInfo, TensorjarError } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";

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
  byteLength(dtype, shape); // throws for what is no dtype or no shape
  if (!Array.isArray(selection) || selection.length > shape.length) {
    const found = Array.isArray(selection) ? `${selection.length} axes` : describe(selection);
    throw refused(found, `${shape.length} axes`);
  }
  const result: number[] = [];
  // In elements, from the last axis to the first; the ranges of one axis repeat along the next.
  let ranges: [number, number][] = [[0, 1]];
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const dim = shape[axis] as number; // axis is within shape
    const selected = selection[axis] ?? {};
    const { start, count, step } = indices(dim, selected, axis);
    if (typeof selected !== "number") result.unshift(count);
    const inner = ranges;
    ranges = [];
    if (step === 1 && inner[0]?.[0] === 0 && inner[0][1] === stride) {
      if (count > 0) ranges = [[start * stride, (start + count) * stride]];
    } else if (inner.length * count > maxRanges) {
      throw new TensorjarError("limit-exceeded", `a selection of over ${maxRanges} ranges`, {
        expected: maxRanges,
        actual: inner.length * count,
        hint: "take whole rows",
      });
    } else if (inner.length > 0) {
      for (let i = 0; i < count; i++) {
        const base = (start + i * step) * stride;
        for (const [begin, end] of inner) {
          const last = ranges.at(-1);
          if (last?.[1] === base + begin) last[1] = base + end;
          else ranges.push([base + begin, base + end]);
        }
      }
    }
    stride *= dim;
  }
  const { bytes } = dtypeInfo(dtype);
  for (const range of ranges) {
    range[0] *= bytes;
    range[1] *= bytes;
    if (range.every(Number.isInteger)) continue;
    throw new TensorjarError("unsupported", `a selection of ${dtype} that cuts a byte in two`, {
      hint: "take whole bytes, or the whole tensor",
    });
  }
  return { ranges, shape: result };
}

/** What is selected along one axis. */
function indices(
  dim: number,
  selected: NonNullable<Selection[number]>,
  axis: number,
): { start: number; count: number; step: number } {
  const from = `axis ${axis} of ${dim}`;
  const place = (index: number): number => (index < 0 ? index + dim : index + 0); // a -0 is 0
  if (typeof selected === "number") {
    const start = place(selected);
    if (!(Number.isInteger(start) && start >= 0 && start < dim)) throw refused(`${selected}`, from);
    return { start, count: 1, step: 1 };
  }
  if (typeof selected !== "object" || Array.isArray(selected))
    throw refused(describe(selected), from);
  const unknown = Object.keys(selected).find((key) => !/^(start|stop|step)$/.test(key));
  if (unknown !== undefined) throw refused(`a range by ${quote(unknown)}`, from);
  const { start = 0, stop = dim, step = 1 } = selected;
  if (![start, stop, step].every(Number.isSafeInteger) || step < 1) {
    throw refused(`${start} to ${stop} by ${step}`, from);
  }
  const first = Math.max(place(start), 0);
  const end = Math.min(place(stop), dim);
  return { start: first, count: Math.max(Math.ceil((end - first) / step), 0), step };
}

function refused(found: string, from: string): TensorjarError {
  return new TensorjarError("invalid-argument", `${found} cannot be selected from ${from}`, {
    hint: "an axis takes null, an index or { start, stop, step } in integers, step from 1",
  });
}
