import { elementCount } from "./dtype.js";
import { decodeFloat4 } from "./float4.js";
import { decodeFloat8 } from "./float8.js";
import { narrow, widen } from "./float32.js";
import { decodeBfloat16, decodeFloat16 } from "./half.js";
import { readInt64 } from "./int64.js";
import { isSmallFloat, type SmallFloat } from "./small-float.js";
import type { Tensor } from "./tensor.js";

/** Elements converted at a time where a conversion goes through another type; even, so that packed pairs stay whole. */
const block = 8192;

/** Numbers in a tensor: elements, twice as many for complex dtypes. */
export function numberCount(tensor: Tensor): number {
  return elementCount(tensor.shape) * (tensor.dtype.startsWith("complex") ? 2 : 1);
}

/** Numbers from `start` on in float32. */
export function readFloat32(tensor: Tensor, start: number, to: Float32Array): void {
  if (isSmallFloat(tensor.dtype)) {
    readSmall(tensor.dtype, tensor.data as Uint8Array | Uint16Array, start, bitsOf(to)); // as its dtype has it
  } else if (tensor.dtype === "float32" || tensor.dtype === "complex64") {
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
export function readFloat64(tensor: Tensor, start: number, to: Float64Array): void {
  if (isSmallFloat(tensor.dtype) || tensor.dtype === "float32" || tensor.dtype === "complex64") {
    eachBlock(to.length, Float32Array, (numbers, from) => {
      readFloat32(tensor, start + from, numbers);
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

/** The memory of floats as 32-bit words: an engine may drop the sign of a NaN that it moves as a number. */
export function bitsOf(data: Float32Array | Float64Array): Int32Array {
  return new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4);
}

/** Small floats, all of which float32 holds exactly, from the element `start` on. */
function readSmall(
  dtype: SmallFloat,
  data: Uint8Array | Uint16Array,
  start: number,
  to: Int32Array,
): void {
  const codes = data.subarray(start, start + to.length);
  // The arrays are those that hold the dtypes.
  if (dtype === "float16") decodeFloat16(codes as Uint16Array, to);
  else if (dtype === "bfloat16") decodeBfloat16(codes as Uint16Array, to);
  else if (dtype === "float4_e2m1fn") decodeFloat4(data as Uint8Array, start, to);
  else decodeFloat8(dtype, codes as Uint8Array, to);
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
