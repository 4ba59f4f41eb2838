import { narrow, narrowToOdd, widen } from "./float32.js";
import { encodeSmall, isSmallFloat, type SmallFloat } from "./small-float.js";
import type { Tensor } from "./tensor.js";

/** Stores numbers in a tensor of floats from the element (the component of complex dtypes) `start` on; rounded once. */
export function storeFloats64(tensor: Tensor, start: number, numbers: Float64Array): void {
  if (tensor.dtype === "float64" || tensor.dtype === "complex128") {
    bitsOf(tensor.data.subarray(start)).set(bitsOf(numbers));
  } else if (tensor.dtype === "float32" || tensor.dtype === "complex64") {
    narrow(numbers, tensor.data.subarray(start));
  } else {
    const single = new Float32Array(numbers.length);
    narrowToOdd(numbers, single);
    storeFloats32(tensor, start, single);
  }
}

/** As {@link storeFloats64}, for numbers in float32. */
export function storeFloats32(tensor: Tensor, start: number, numbers: Float32Array): void {
  if (isSmallFloat(tensor.dtype)) {
    const data = tensor.data as Uint8Array | Uint16Array; // as its dtype has it
    encodeFloats(tensor.dtype, bitsOf(numbers), data, start);
  } else if (tensor.dtype === "float32" || tensor.dtype === "complex64") {
    bitsOf(tensor.data.subarray(start)).set(bitsOf(numbers));
  } else if (tensor.dtype === "float64" || tensor.dtype === "complex128") {
    widen(numbers, tensor.data.subarray(start));
  }
}

function encodeFloats(
  dtype: SmallFloat,
  bits: Uint32Array,
  data: Uint8Array | Uint16Array,
  start: number,
): void {
  if (dtype !== "float4_e2m1fn") {
    encodeSmall(dtype, bits, data.subarray(start));
    return;
  }
  const codes = new Uint8Array(bits.length);
  encodeSmall(dtype, bits, codes);
  for (let i = 0; i < codes.length; i++) {
    const at = (start + i) >> 1;
    const code = codes[i] as number; // within the length
    data[at] =
      (start + i) % 2 === 0
        ? ((data[at] as number) & 0xf0) | code
        : ((data[at] as number) & 15) | (code << 4);
  }
}

/** Through bits, since an engine may drop the sign of a NaN. */
function bitsOf(data: Float32Array | Float64Array): Uint32Array {
  return new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4);
}
