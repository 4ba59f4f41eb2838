import {
  dtypeInfo,
  isTensorjarError,
  type SourceLike,
  type Tensor,
  toFloat64,
} from "@tensorjar/core";
import { tensorBytes } from "@tensorjar/core/codec";
import { formatOf } from "./inspect.js";
import { below, type Json, sameJson } from "./json.js";
import { sameShape } from "./shape.js";
import type { OptimizerSnapshot, Snapshot } from "./snapshot.js";
import { withSource } from "./source.js";

/** One way in which two checkpoints differ. */
export interface Difference {
  /** `params.…`, `optimizers.NAME.SLOT.…`, `optimizers.NAME.step`, `extra.…`, `step`, `config`, `metrics.…`. */
  readonly path: string;
  /** `"missing"` is in the first alone, `"unexpected"` in the second alone. */
  readonly kind: "missing" | "unexpected" | "shape" | "dtype" | "values";
  /** The largest difference of two elements; `Infinity` where a NaN meets a number. */
  readonly maxAbs?: number;
  /** Elements that differ in any bit. */
  readonly count?: number;
}

/**
 * In what two checkpoints differ, of either container, in a stable order; empty when they hold the same, bit for bit.
 * Both are loaded and verified. Rejects as their format's `load` does.
 */
export async function diffCheckpoints(
  a: SourceLike,
  b: SourceLike,
): Promise<readonly Difference[]> {
  const [first, second] = await Promise.all([load(a), load(b)]);
  const differences: Difference[] = [];
  compareTrees("params", first.params, second.params, differences);
  const compareOptimizers = comparer((path, left: OptimizerSnapshot, right: OptimizerSnapshot) => {
    compareSteps(path, left, right, differences);
    compareJson(
      `${path}.hyperparameters`,
      left.hyperparameters,
      right.hyperparameters,
      differences,
    );
    comparer((slot, l: ReadonlyMap<string, Tensor>, r: ReadonlyMap<string, Tensor>) =>
      compareTrees(slot, l, r, differences),
    )(path, left.slots, right.slots, differences);
  });
  compareOptimizers("optimizers", first.optimizers, second.optimizers, differences);
  compareTrees("extra", first.extra, second.extra, differences);
  compareNumbers("step", first.step, second.step, differences);
  compareJson("config", first.config, second.config, differences);
  comparer((path, left: number, right: number) => compareNumbers(path, left, right, differences))(
    "metrics",
    new Map(Object.entries(first.metrics ?? {})),
    new Map(Object.entries(second.metrics ?? {})),
    differences,
  );
  return differences;
}

function load(source: SourceLike): Promise<Snapshot> {
  return withSource(source, async (bytes) => (await formatOf(bytes)).load(bytes));
}

/** Compares two maps key by key: what one lacks is a difference, the rest is for `compare`. */
function comparer<T>(
  compare: (path: string, left: T, right: T) => void,
): (
  prefix: string,
  left: ReadonlyMap<string, T>,
  right: ReadonlyMap<string, T>,
  differences: Difference[],
) => void {
  return (prefix, left, right, differences) => {
    for (const [key, value] of left) {
      const other = right.get(key);
      if (other !== undefined) compare(below(prefix, key), value, other);
      else differences.push({ path: below(prefix, key), kind: "missing" });
    }
    for (const key of right.keys()) {
      if (!left.has(key)) differences.push({ path: below(prefix, key), kind: "unexpected" });
    }
  };
}

function compareTrees(
  prefix: string,
  left: ReadonlyMap<string, Tensor>,
  right: ReadonlyMap<string, Tensor>,
  differences: Difference[],
): void {
  comparer((path, l: Tensor, r: Tensor) => {
    if (l.dtype !== r.dtype) differences.push({ path, kind: "dtype" });
    else if (!sameShape(l.shape, r.shape)) differences.push({ path, kind: "shape" });
    else compareValues(path, l, r, differences);
  })(prefix, left, right, differences);
}

function compareValues(path: string, left: Tensor, right: Tensor, differences: Difference[]): void {
  const { bits } = dtypeInfo(left.dtype);
  const count = countDifferences(tensorBytes(left), tensorBytes(right), bits);
  if (count === 0) return;
  const maxAbs = largestDifference(left, right);
  differences.push({
    path,
    kind: "values",
    count,
    ...(maxAbs === undefined ? {} : { maxAbs }),
  });
}

/** Elements that differ in any bit; those that share bytes are counted from the lowest bit on. */
function countDifferences(a: Uint8Array, b: Uint8Array, bits: number): number {
  let count = 0;
  let next = 0; // the bit after the last element that was counted
  for (let at = 0; at < a.length; at++) {
    let changed = (a[at] ?? 0) ^ (b[at] ?? 0);
    for (; changed !== 0; changed &= changed - 1) {
      const bit = 8 * at + 31 - Math.clz32(changed & -changed);
      if (bit < next) continue;
      count++;
      next = (Math.floor(bit / bits) + 1) * bits;
    }
    at = Math.max(at, Math.floor(next / 8) - 1); // what remains of the element
  }
  return count;
}

/** `undefined` for a dtype whose numbers are not known. */
function largestDifference(left: Tensor, right: Tensor): number | undefined {
  try {
    const wide = /int64/.test(left.dtype); // float64 does not hold all of these
    const [a, b] = wide ? [left.data, right.data] : [toFloat64(left), toFloat64(right)];
    let largest = 0;
    for (let i = 0; i < a.length; i++) {
      const [x = 0, y = 0] = [a[i], b[i]];
      if (Object.is(x, y)) continue;
      largest = Math.max(
        largest,
        distance(Number(wide ? BigInt(x) - BigInt(y) : Number(x) - Number(y))),
      );
    }
    return largest;
  } catch (error) {
    if (isTensorjarError(error, "unsupported")) return undefined;
    throw error;
  }
}

function compareNumbers(
  path: string,
  left: number,
  right: number,
  differences: Difference[],
): void {
  if (Object.is(left, right)) return;
  differences.push({ path, kind: "values", count: 1, maxAbs: distance(left - right) });
}

/** How far apart two numbers of that difference are. */
function distance(difference: number): number {
  return Number.isNaN(difference) ? Infinity : Math.abs(difference);
}

function compareJson(
  path: string,
  left: Json | undefined,
  right: Json | undefined,
  differences: Difference[],
): void {
  if (left === undefined && right === undefined) return;
  if (left === undefined) differences.push({ path, kind: "unexpected" });
  else if (right === undefined) differences.push({ path, kind: "missing" });
  else if (!sameJson(left, right)) differences.push({ path, kind: "values" });
}

/** One step for all is the same as that step for every parameter with state, which is how an `.npz` has it. */
function compareSteps(
  path: string,
  left: OptimizerSnapshot,
  right: OptimizerSnapshot,
  differences: Difference[],
): void {
  const steps = `${path}.step`;
  if (typeof left.step === "number" && typeof right.step === "number") {
    compareNumbers(steps, left.step, right.step, differences);
    return;
  }
  comparer((at, l: number, r: number) => compareNumbers(at, l, r, differences))(
    steps,
    stepsByPath(left),
    stepsByPath(right),
    differences,
  );
}

function stepsByPath({ step, slots }: OptimizerSnapshot): ReadonlyMap<string, number> {
  if (typeof step !== "number") return step;
  const paths = [...slots.values()].flatMap((values) => [...values.keys()]);
  return new Map(paths.map((path) => [path, step]));
}
