import { decodeFloat4 } from "./float4.js";
import { decodeFloat8 } from "./float8.js";
import { narrow } from "./float32.js";
import { decodeBfloat16, decodeFloat16, isFew } from "./half.js";
import { bitsOf, eachBlock, readFloat64 } from "./numbers.js";
import { isSmallFloat, type SmallFloat } from "./small-float.js";
import type { Tensor } from "./tensor.js";

/** Numbers from `start` on in float32. */
export function readFloat32(tensor: Tensor, start: number, to: Float32Array): void {
  if (isSmallFloat(tensor.dtype) && !(tensor.dtype === "float16" && isFew(to.length))) {
    readSmall(tensor.dtype, tensor.data as Uint8Array | Uint16Array, start, bitsOf(to)); // as its dtype has it
  } else if (tensor.dtype === "float32" || tensor.dtype === "complex64") {
    bitsOf(to).set(bitsOf(tensor.data.subarray(start, start + to.length)));
  } else {
    eachBlock(to.length, Float64Array, (numbers, from) => {
      readFloat64(tensor, start + from, numbers, true);
      narrow(numbers, to.subarray(from, from + numbers.length));
    });
  }
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
