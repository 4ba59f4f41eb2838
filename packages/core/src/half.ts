import { type VectorHalves, vectorHalves } from "./half-vector.js";
import { inPieces } from "./in-pieces.js";
import { encodeSmall, formats } from "./small-float.js";
import { decodingTable, upperWord } from "./small-table.js";

// The loops below are unrolled: measured, little more than half the time of plain ones. Bits are moved, never numbers:
// an engine may drop the sign of a NaN that it holds as a number.

/** Fewer numbers take less time one by one than what many need takes to be made: 0.5 ms, and a table 10 ms. */
const many = 4096;

let isReady = false;

/** Whether numbers of `count` are converted one by one: few, and nothing is ready for many. */
export function isFew(count: number): boolean {
  isReady ||= count >= many;
  return !isReady;
}

function vectorFor(count: number): VectorHalves | undefined {
  return isFew(count) ? undefined : vectorHalves();
}

let decodeHalves: ((codes: Uint16Array, to: Int32Array) => void) | undefined;

/** Float32 bits of float16 codes. */
export function decodeFloat16(codes: Uint16Array, to: Int32Array): void {
  const vector = vectorHalves();
  if (vector !== undefined) vector.decodeFloat16(codes, to);
  else {
    decodeHalves ??= float16Decoder();
    inPieces(codes, to, decodeHalves);
  }
}

/**
 * Made once: an engine then takes the table for a constant, which measured is a tenth faster. The last of each 16 goes
 * first, which is a twentieth.
 */
function float16Decoder(): (codes: Uint16Array, to: Int32Array) => void {
  const table = decodingTable("float16");
  return (codes, to) => {
    const count = codes.length;
    const whole = count - (count % 16);
    let i = 0;
    for (; i < whole; i += 16) {
      to[i | 15] = table[codes[i | 15] as number] as number; // within both, like all below
      to[i] = table[codes[i] as number] as number;
      to[i | 1] = table[codes[i | 1] as number] as number;
      to[i | 2] = table[codes[i | 2] as number] as number;
      to[i | 3] = table[codes[i | 3] as number] as number;
      to[i | 4] = table[codes[i | 4] as number] as number;
      to[i | 5] = table[codes[i | 5] as number] as number;
      to[i | 6] = table[codes[i | 6] as number] as number;
      to[i | 7] = table[codes[i | 7] as number] as number;
      to[i | 8] = table[codes[i | 8] as number] as number;
      to[i | 9] = table[codes[i | 9] as number] as number;
      to[i | 10] = table[codes[i | 10] as number] as number;
      to[i | 11] = table[codes[i | 11] as number] as number;
      to[i | 12] = table[codes[i | 12] as number] as number;
      to[i | 13] = table[codes[i | 13] as number] as number;
      to[i | 14] = table[codes[i | 14] as number] as number;
    }
    for (; i < count; i++) to[i] = table[codes[i] as number] as number;
  };
}

/** Float32 bits of bfloat16 codes. */
export function decodeBfloat16(codes: Uint16Array, to: Int32Array): void {
  const vector = vectorFor(codes.length);
  if (vector !== undefined) vector.decodeBfloat16(codes, to);
  else inPieces(codes, to, widenBfloat16);
}

function widenBfloat16(codes: Uint16Array, to: Int32Array): void {
  const count = codes.length;
  const whole = count - (count % 16);
  let i = 0;
  for (; i < whole; i += 16) {
    to[i] = (codes[i] as number) << 16; // within both, like all below
    to[i | 1] = (codes[i | 1] as number) << 16;
    to[i | 2] = (codes[i | 2] as number) << 16;
    to[i | 3] = (codes[i | 3] as number) << 16;
    to[i | 4] = (codes[i | 4] as number) << 16;
    to[i | 5] = (codes[i | 5] as number) << 16;
    to[i | 6] = (codes[i | 6] as number) << 16;
    to[i | 7] = (codes[i | 7] as number) << 16;
    to[i | 8] = (codes[i | 8] as number) << 16;
    to[i | 9] = (codes[i | 9] as number) << 16;
    to[i | 10] = (codes[i | 10] as number) << 16;
    to[i | 11] = (codes[i | 11] as number) << 16;
    to[i | 12] = (codes[i | 12] as number) << 16;
    to[i | 13] = (codes[i | 13] as number) << 16;
    to[i | 14] = (codes[i | 14] as number) << 16;
    to[i | 15] = (codes[i | 15] as number) << 16;
  }
  for (; i < count; i++) to[i] = (codes[i] as number) << 16;
}

/** Float16 codes of float32 bits, to nearest even. */
export function encodeFloat16(bits: Int32Array, to: Uint16Array): void {
  (vectorFor(bits.length)?.encodeFloat16 ?? encodeEach)(bits, to);
}

function encodeEach(bits: Int32Array, to: Uint16Array): void {
  for (let i = 0; i < bits.length; i++) {
    const value = bits[i] as number; // within the length
    const magnitude = value & 0x7fffffff;
    const sign = (value >>> 16) & 0x8000;
    if (magnitude >= 0x38800000 && magnitude < 0x477ff000) {
      to[i] = sign | ((magnitude - 0x37fff001 + ((magnitude >>> 13) & 1)) >>> 13);
    } else if (magnitude < 0x33000000) {
      to[i] = sign; // below half of the smallest number
    } else to[i] = encodeSmall(formats.float16, upperWord(value));
  }
}

/** Bfloat16 codes of float32 bits, to nearest even. */
export function encodeBfloat16(bits: Int32Array, to: Uint16Array): void {
  (vectorFor(bits.length)?.encodeBfloat16 ?? narrowBfloat16)(bits, to);
}

function narrowBfloat16(bits: Int32Array, to: Uint16Array): void {
  const count = bits.length;
  const whole = count - (count % 8);
  let i = 0;
  for (; i < whole; i += 8) {
    to[i] = bfloat16(bits[i] as number); // within both, like all below
    to[i + 1] = bfloat16(bits[i + 1] as number);
    to[i + 2] = bfloat16(bits[i + 2] as number);
    to[i + 3] = bfloat16(bits[i + 3] as number);
    to[i + 4] = bfloat16(bits[i + 4] as number);
    to[i + 5] = bfloat16(bits[i + 5] as number);
    to[i + 6] = bfloat16(bits[i + 6] as number);
    to[i + 7] = bfloat16(bits[i + 7] as number);
  }
  for (; i < count; i++) to[i] = bfloat16(bits[i] as number);
}

function bfloat16(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return bits < 0 ? 0xffc0 : 0x7fc0;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}
