import { decodeFloats } from "./decode-float.js";
import { type DType, elementCount } from "./dtype.js";
import { quote, TensorjarError } from "./error.js";
import { narrow, widen } from "./float32.js";
import { readInt64 } from "./int64.js";
import { isSmallFloat } from "./small-float.js";
import { type AnyArray, allocate, checkTensor, missingTensor, type Tensor } from "./tensor.js";

/** Elements converted at a time where a conversion goes through another type; even, so that packed pairs stay whole. */
const block = 8192;

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
  const out = new Float32Array(allocate(4 * count).buffer);
  floats32(tensor, 0, out);
  return out;
}

/**
 * The elements as float64, in memory of their own; as {@link toFloat32}, but only 64-bit integers past 2^53 are rounded.
 * Throws `unsupported` for the float6s, `invalid-dtype` for what holds no numbers, `not-found` for `undefined`.
 */
export function toFloat64(t: AnyArray): Float64Array {
  const tensor = checkNumeric(t);
  const count = numberCount(tensor);
  const out = new Float64Array(allocate(8 * count).buffer);
  floats64(tensor, 0, out);
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

/** Numbers in a tensor: elements, twice as many for complex dtypes. */
export function numberCount(tensor: Tensor): number {
  return elementCount(tensor.shape) * (tensor.dtype.startsWith("complex") ? 2 : 1);
}

/** Numbers from `start` on in float32. */
export function floats32(tensor: Tensor, start: number, to: Float32Array): void {
  if (isSmallFloat(tensor.dtype)) {
    decodeFloats(tensor.dtype, tensor.data as Uint8Array | Uint16Array, start, to); // as its dtype has it
  } else if (tensor.dtype === "float32" || tensor.dtype === "complex64") {
    // Through bits: an engine may drop the sign of a NaN.
    const { data } = tensor;
    bitsOf(to).set(bitsOf(data.subarray(start, start + to.length)));
  } else if (tensor.dtype === "float64" || tensor.dtype === "complex128") {
    narrow(tensor.data.subarray(start, start + to.length), to);
  } else if (tensor.dtype === "int64" || tensor.dtype === "uint64") {
    eachBlock(to.length, Float64Array, (numbers, from) => {
      readInt64(tensor, start + from, numbers, "odd");
      to.set(numbers, from);
    });
  } else {
    integers(tensor, start, to);
  }
}

/** Numbers from `start` on in float64. */
export function floats64(tensor: Tensor, start: number, to: Float64Array): void {
  if (isSmallFloat(tensor.dtype) || tensor.dtype === "float32" || tensor.dtype === "complex64") {
    eachBlock(to.length, Float32Array, (numbers, from) => {
      floats32(tensor, start + from, numbers);
      widen(numbers, to.subarray(from, from + numbers.length));
    });
  } else if (tensor.dtype === "float64" || tensor.dtype === "complex128") {
    const { data } = tensor;
    bitsOf(to).set(bitsOf(data.subarray(start, start + to.length)));
  } else if (tensor.dtype === "int64" || tensor.dtype === "uint64") {
    readInt64(tensor, start, to, "nearest");
  } else {
    integers(tensor, start, to);
  }
}

/** Calls `convert` with room for the numbers of one piece at a time, each at most a block, in order. */
export function eachBlock<T extends Float32Array | Float64Array>(
  count: number,
  Room: new (length: number) => T,
  convert: (numbers: T, start: number) => void,
): void {
  let room = new Room(Math.min(block, count));
  for (let start = 0; start < count; start += block) {
    const length = Math.min(block, count - start);
    if (length < room.length) room = new Room(length);
    convert(room, start);
  }
}

function bitsOf(data: Float32Array | Float64Array): Uint32Array {
  return new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4);
}

/** Booleans and integers up to 32 bits. */
function integers(tensor: Tensor, start: number, to: Float32Array | Float64Array): void {
  const data = tensor.data as Exclude<Tensor["data"], BigInt64Array | BigUint64Array>; // other dtypes never come here
  if (tensor.dtype === "bool") {
    for (let i = 0; i < to.length; i++) to[i] = data[start + i] === 0 ? 0 : 1;
  } else {
    to.set(data.subarray(start, start + to.length));
  }
}
