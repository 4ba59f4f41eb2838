import { elementCount } from "./dtype.js";
import { narrow, widen } from "./float32.js";
import { readInt64 } from "./int64.js";
import { decodeSmall, encodeSmall, formats, isSmallFloat, type SmallFloat } from "./small-float.js";
import type { Tensor } from "./tensor.js";

/** Numbers in a tensor: elements, twice as many for complex dtypes. */
export function numberCount(tensor: Tensor): number {
  return elementCount(tensor.shape) * (tensor.dtype.startsWith("complex") ? 2 : 1);
}

/** Elements converted at a time where a conversion goes through another type; even, so that packed pairs stay whole. */
const block = 8192;

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

/** Numbers from `start` on; 64-bit integers rounded to nearest, or such that rounding them once more does no harm. */
export function readFloat64(tensor: Tensor, start: number, to: Float64Array, odd = false): void {
  const end = start + to.length;
  if (tensor.dtype === "int64" || tensor.dtype === "uint64") {
    readInt64(tensor, start, to, odd ? "odd" : "nearest");
  } else if (tensor.dtype === "float64" || tensor.dtype === "complex128") {
    bitsOf(to).set(bitsOf(tensor.data.subarray(start, end)));
  } else if (tensor.dtype === "float32" || tensor.dtype === "complex64") {
    widen(tensor.data.subarray(start, end), to);
  } else if (isSmallFloat(tensor.dtype)) {
    const { dtype, data } = tensor;
    const format = formats[dtype as SmallFloat]; // told just now
    const words = bitsOf(to);
    const packed = dtype === "float4_e2m1fn";
    for (let i = start; i < end; i++) {
      const whole = data[packed ? i >> 1 : i] as number; // within the data
      const code = packed ? (whole >> (4 * (i & 1))) & 15 : whole;
      words[2 * (i - start)] = 0;
      words[2 * (i - start) + 1] = decodeSmall(format, code);
    }
  } else {
    to.set(tensor.data.subarray(start, end));
    if (tensor.dtype === "bool") for (let i = 0; i < to.length; i++) to[i] = to[i] === 0 ? 0 : 1;
  }
}

/** Stores numbers in a new tensor of floats from the element (the component of complex dtypes) `start` on; rounded once. */
export function storeFloat64(made: Tensor, start: number, numbers: Float64Array): void {
  if (made.dtype === "float64" || made.dtype === "complex128") {
    bitsOf(made.data.subarray(start)).set(bitsOf(numbers));
  } else if (made.dtype === "float32" || made.dtype === "complex64") {
    narrow(numbers, made.data.subarray(start));
  } else if (isSmallFloat(made.dtype)) {
    const { dtype, data } = made;
    const format = formats[dtype as SmallFloat]; // told just now
    const words = bitsOf(numbers);
    const packed = dtype === "float4_e2m1fn";
    for (let i = 0; i < numbers.length; i++) {
      const sticky = words[2 * i] === 0 ? 0 : 1;
      const code = encodeSmall(format, (words[2 * i + 1] as number) | sticky); // within the words
      const at = start + i;
      if (packed) data[at >> 1] = (data[at >> 1] as number) | (code << (4 * (at & 1)));
      else data[at] = code;
    }
  }
}
