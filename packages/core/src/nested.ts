import { checkNumeric, toFloat64 } from "./convert.js";
import { dtypeInfo, shapeText } from "./dtype.js";
import { TensorjarError } from "./error.js";
import type { AnyArray, Tensor } from "./tensor.js";

/** What NumPy's `tolist` gives and `tensor` takes: a number, or arrays of equal lengths of it, one level an axis. */
export type Nested = number | bigint | boolean | readonly Nested[];

/** Values, or lists at one level, that an engine's arrays hold for sure. */
const maxValues = 100_000_000;

/**
 * Nested arrays of the elements as `ndarray.tolist()` has them: bigints for 64-bit integers, booleans, `[re, im]`
 * for complex numbers; a bare value for a scalar. Throws `limit-exceeded` past 100,000,000 values or lists,
 * `unsupported` for the float6s, `invalid-dtype` for what holds no numbers, `not-found` for `undefined`.
 */
export function toNested(t: AnyArray): unknown {
  const tensor = checkNumeric(t);
  const { shape } = tensor;
  const sizes = dtypeInfo(tensor.dtype).components === 2 ? [...shape, 2] : shape;
  const counts = listCounts(tensor.dtype, shape, sizes);
  let level: unknown[] = values(tensor);
  for (let axis = sizes.length - 1; axis >= 0; axis--) {
    const size = sizes[axis] as number; // an axis of `sizes`, like the next one of `counts`
    const lists = counts[axis] as number;
    const next: unknown[] = [];
    for (let i = 0; i < lists; i++) next.push(level.slice(i * size, (i + 1) * size));
    level = next;
  }
  return level[0];
}

/** Lists at each level, the outermost first. Throws `limit-exceeded`. */
function listCounts(dtype: string, shape: readonly number[], sizes: readonly number[]): number[] {
  const counts: number[] = [];
  let count = 1;
  for (const size of sizes) {
    counts.push(count);
    count *= size;
    if (count <= maxValues) continue;
    throw new TensorjarError(
      "limit-exceeded",
      `nested arrays for ${dtype} of shape ${shapeText(shape)} would hold over ${maxValues} values or lists`,
      { expected: maxValues, actual: count, hint: "take the numbers flat, with toFloat64" },
    );
  }
  return counts;
}

function values(tensor: Tensor): unknown[] {
  if (tensor.dtype === "int64" || tensor.dtype === "uint64") return Array.from<bigint>(tensor.data);
  const numbers = Array.from(toFloat64(tensor));
  return tensor.dtype === "bool" ? numbers.map((value) => value !== 0) : numbers;
}
