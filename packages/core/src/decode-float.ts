import { decodeSmall, type SmallFloat } from "./small-float.js";

const tables = new Map<SmallFloat, Float32Array>();

/** The float32 number of every code of `dtype`; made when first asked for. */
function table(dtype: SmallFloat, codes: number): Float32Array {
  let numbers = tables.get(dtype);
  if (numbers === undefined) {
    const bits = new Uint32Array(codes);
    for (let code = 0; code < codes; code++) bits[code] = decodeSmall(dtype, code);
    numbers = new Float32Array(bits.buffer);
    tables.set(dtype, numbers);
  }
  return numbers;
}

/** Elements of `data` in float32, which holds all of these dtypes exactly, from the element `start` on. */
export function decodeFloats(
  dtype: SmallFloat,
  data: Uint8Array | Uint16Array,
  start: number,
  to: Float32Array,
): void {
  const bits = new Uint32Array(to.buffer, to.byteOffset, to.length);
  if (dtype === "bfloat16") decodeBfloat16(data.subarray(start, start + to.length), bits);
  else if (dtype === "float4_e2m1fn") decodeFloat4(data, start, bits);
  else {
    const numbers = table(dtype, dtype === "float16" ? 65536 : 256);
    lookUp(new Uint32Array(numbers.buffer), data.subarray(start, start + to.length), bits);
  }
}

/** Bits are copied, not numbers: an engine may drop the sign of a NaN. */
function lookUp(table: Uint32Array, codes: Uint8Array | Uint16Array, to: Uint32Array): void {
  for (let i = 0; i < codes.length; i++) to[i] = table[codes[i] as number] as number; // a code for every index
}

function decodeBfloat16(codes: Uint8Array | Uint16Array, to: Uint32Array): void {
  const whole = codes.length - (codes.length % 4);
  let i = 0;
  for (; i < whole; i += 4) {
    to[i] = (codes[i] as number) << 16; // below `whole`, like the next three
    to[i + 1] = (codes[i + 1] as number) << 16;
    to[i + 2] = (codes[i + 2] as number) << 16;
    to[i + 3] = (codes[i + 3] as number) << 16;
  }
  for (; i < codes.length; i++) to[i] = (codes[i] as number) << 16;
}

/** Two elements a byte, the low nibble first. */
function decodeFloat4(bytes: Uint8Array | Uint16Array, start: number, to: Uint32Array): void {
  const numbers = new Uint32Array(table("float4_e2m1fn", 16).buffer);
  for (let i = 0; i < to.length; i++) {
    const at = start + i;
    const byte = bytes[at >> 1] as number; // within the elements
    to[i] = numbers[at % 2 === 0 ? byte & 15 : byte >> 4] as number;
  }
}
