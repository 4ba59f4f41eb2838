import { encodeFloat4 } from "./float4.js";
import { encodeBytes } from "./float8.js";
import { encodeBfloat16, encodeFloat16 } from "./half.js";
import { bitsOf } from "./numbers.js";
import type { SmallFloat } from "./small-float.js";
import type { Tensor } from "./tensor.js";

/** Stores numbers in a tensor of small floats from the element `start` on. */
export function storeFloat32(
  { dtype, data }: Tensor<SmallFloat>,
  start: number,
  numbers: Float32Array,
): void {
  const bits = bitsOf(numbers);
  const codes = data.subarray(start);
  // The arrays are those that hold the dtypes.
  if (dtype === "float16") encodeFloat16(bits, codes as Uint16Array);
  else if (dtype === "bfloat16") encodeBfloat16(bits, codes as Uint16Array);
  else if (dtype === "float4_e2m1fn") encodeFloat4(bits, data as Uint8Array, start);
  else encodeBytes(dtype, bits, codes as Uint8Array);
}
