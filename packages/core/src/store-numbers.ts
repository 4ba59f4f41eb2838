import { encodeFloat4 } from "./float4.js";
import { encodeBytes } from "./float8.js";
import { narrow, narrowToOdd, widen } from "./float32.js";
import { encodeBfloat16, encodeFloat16 } from "./half.js";
import { bitsOf } from "./read-numbers.js";
import { isSmallFloat, type SmallFloat } from "./small-float.js";
import type { Tensor } from "./tensor.js";

/** Stores numbers in a tensor of floats from the element (the component of complex dtypes) `start` on; rounded once. */
export function storeFloat64(tensor: Tensor, start: number, numbers: Float64Array): void {
  if (tensor.dtype === "float64" || tensor.dtype === "complex128") {
    bitsOf(tensor.data.subarray(start)).set(bitsOf(numbers));
  } else if (tensor.dtype === "float32" || tensor.dtype === "complex64") {
    narrow(numbers, tensor.data.subarray(start));
  } else {
    const single = new Float32Array(numbers.length);
    narrowToOdd(numbers, single);
    storeFloat32(tensor, start, single);
  }
}

/** As {@link storeFloat64}, for numbers in float32. */
export function storeFloat32(tensor: Tensor, start: number, numbers: Float32Array): void {
  if (isSmallFloat(tensor.dtype)) {
    const data = tensor.data as Uint8Array | Uint16Array; // as its dtype has it
    storeSmall(tensor.dtype, bitsOf(numbers), data, start);
  } else if (tensor.dtype === "float32" || tensor.dtype === "complex64") {
    bitsOf(tensor.data.subarray(start)).set(bitsOf(numbers));
  } else if (tensor.dtype === "float64" || tensor.dtype === "complex128") {
    widen(numbers, tensor.data.subarray(start));
  }
}

function storeSmall(
  dtype: SmallFloat,
  bits: Int32Array,
  data: Uint8Array | Uint16Array,
  start: number,
): void {
  const codes = data.subarray(start);
  // The arrays are those that hold the dtypes.
  if (dtype === "float16") encodeFloat16(bits, codes as Uint16Array);
  else if (dtype === "bfloat16") encodeBfloat16(bits, codes as Uint16Array);
  else if (dtype === "float4_e2m1fn") encodeFloat4(bits, data as Uint8Array, start);
  else encodeBytes(dtype, bits, codes as Uint8Array);
}
