import { unfilled } from "#unfilled";
import type { DType } from "./dtype.js";
import { quote, TensorjarError } from "./error.js";
import { numberCount, readFloat64 } from "./numbers.js";
import { readFloat32 } from "./read-numbers.js";
import { type AnyArray, checkTensor, missingTensor, type Tensor } from "./tensor.js";

/**
 * The elements as float32, in memory of their own (`ofType(t, "float32").data` is the memory of a float32 tensor).
 * Wider numbers are rounded to nearest even, past the range to infinity; a NaN keeps its sign; booleans are 0 and 1;
 * complex numbers give `[re, im]` pairs one after another, twice the number of elements.
 * Throws `unsupported` for the float6s, whose packing no writer fixes, `invalid-dtype` for what holds no numbers,
 * `not-found` for `undefined`, and what a malformed tensor gives.
 */
export function toFloat32(t: AnyArray): Float32Array {
  const tensor = checkNumeric(t);
  const count = numberCount(tensor);
  const out = new Float32Array(unfilled(4 * count).buffer);
  readFloat32(tensor, 0, out);
  return out;
}

/**
 * The elements as float64, in memory of their own; as {@link toFloat32}, but only 64-bit integers past 2^53 are rounded.
 * Throws `unsupported` for the float6s, `invalid-dtype` for what holds no numbers, `not-found` for `undefined`.
 */
export function toFloat64(t: AnyArray): Float64Array {
  const tensor = checkNumeric(t);
  const count = numberCount(tensor);
  const out = new Float64Array(unfilled(8 * count).buffer);
  readFloat64(tensor, 0, out);
  return out;
}

/** The tensor, checked to be one. */
export function checkedTensor(t: AnyArray): Tensor {
  if (t === undefined) throw missingTensor();
  checkTensor(t);
  return t as Tensor; // checkTensor ties data to the dtype, which TypeScript cannot see through
}

/** The tensor, checked to hold numbers. */
export function checkNumeric(t: AnyArray): Tensor {
  const tensor = checkedTensor(t);
  checkNumbers(tensor.dtype);
  return tensor;
}

/** Throws `unsupported` for the dtypes whose packing is not fixed. */
export function checkNumbers(dtype: DType): void {
  if (dtype !== "float6_e2m3fn" && dtype !== "float6_e3m2fn") return;
  throw new TensorjarError("unsupported", `the numbers of ${dtype} cannot be told`, {
    actual: dtype,
    hint: `no writer fixes how ${quote(dtype)} is packed; its bytes are kept as they are`,
  });
}
