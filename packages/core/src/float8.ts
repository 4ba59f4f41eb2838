import { inPieces } from "./in-pieces.js";
import { bitsOf } from "./numbers.js";
import { encodeSmall, formats, type SmallFloat } from "./small-float.js";
import { decodingTable, upperWord } from "./small-table.js";

export type Float8 = Extract<SmallFloat, `float8_${string}`>;
/** What a byte or less holds: one code an element, whatever the packing. */
type ByteFloat = Float8 | "float4_e2m1fn";

const encoders = new Map<ByteFloat, Uint8Array>();

const pairs = new Map<Float8, Float64Array>();

/** Float32 bits of float8 codes. */
export function decodeFloat8(dtype: Float8, codes: Uint8Array, to: Int32Array): void {
  const table = decodingTable(dtype);
  let done = 0;
  if (codes.length >= 65536 && codes.byteOffset % 2 === 0 && to.byteOffset % 8 === 0) {
    const two = pairTable(dtype, table);
    const twos = new Uint16Array(codes.buffer, codes.byteOffset, codes.length >> 1);
    done = 2 * twos.length;
    inPieces(twos, new Float64Array(to.buffer, to.byteOffset, twos.length), (part, into) =>
      decodePairs(two, part, into),
    );
  }
  inPieces(codes.subarray(done), to.subarray(done), (part, into) => decodePiece(table, part, into));
}

/**
 * The float32 bits of every two codes, as they lie in memory, as float64: moving both at once takes, measured, two
 * thirds of the time. None of them is a NaN, whose bits an engine may change: the exponent of a float64 has three bits
 * more than that of float32, and the mantissas of float8's NaNs leave them unset.
 */
function pairTable(dtype: Float8, table: Int32Array): Float64Array {
  let two = pairs.get(dtype);
  if (two === undefined) {
    two = new Float64Array(65536);
    const words = bitsOf(two);
    for (let codes = 0; codes < 65536; codes++) {
      words[2 * codes] = table[codes & 255] as number; // 256 entries
      words[2 * codes + 1] = table[codes >> 8] as number;
    }
    pairs.set(dtype, two);
  }
  return two;
}

function decodePairs(table: Float64Array, codes: Uint16Array, to: Float64Array): void {
  const count = codes.length;
  const whole = count - (count % 8);
  let i = 0;
  for (; i < whole; i += 8) {
    to[i] = table[codes[i] as number] as number; // within both, like all below
    to[i | 1] = table[codes[i | 1] as number] as number;
    to[i | 2] = table[codes[i | 2] as number] as number;
    to[i | 3] = table[codes[i | 3] as number] as number;
    to[i | 4] = table[codes[i | 4] as number] as number;
    to[i | 5] = table[codes[i | 5] as number] as number;
    to[i | 6] = table[codes[i | 6] as number] as number;
    to[i | 7] = table[codes[i | 7] as number] as number;
  }
  for (; i < count; i++) to[i] = table[codes[i] as number] as number;
}

/** A loop of its own, since one that serves the 16-bit codes as well is slower for both. */
function decodePiece(table: Int32Array, codes: Uint8Array, to: Int32Array): void {
  const count = codes.length;
  const whole = count - (count % 16);
  let i = 0;
  // Unrolled: measured, half the time of a plain loop.
  for (; i < whole; i += 16) {
    to[i] = table[codes[i] as number] as number; // within both, like all below
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
    to[i | 15] = table[codes[i | 15] as number] as number;
  }
  for (; i < count; i++) to[i] = table[codes[i] as number] as number;
}

/** Codes of float32 bits, one a byte, also of float4; to nearest even. */
export function encodeBytes(dtype: ByteFloat, bits: Int32Array, to: Uint8Array): void {
  if (bits.length < 4096 && !encoders.has(dtype)) {
    for (let i = 0; i < bits.length; i++)
      to[i] = encodeSmall(formats[dtype], upperWord(bits[i] as number)); // within the length
    return;
  }
  const table = encoder(dtype);
  for (let i = 0; i < bits.length; i++) {
    const value = bits[i] as number; // within the length
    to[i] = table[(value >>> 16) | (((value & 0xffff) + 0xffff) >>> 16)] as number; // 65,536 entries
  }
}

/**
 * Codes by the upper half of the float32 bits, its last bit set where the lower half is not zero: with at least two
 * bits more than any of these types has, that rounds as the whole number would.
 */
function encoder(dtype: ByteFloat): Uint8Array {
  let table = encoders.get(dtype);
  if (table === undefined) {
    table = new Uint8Array(65536);
    for (let upper = 0; upper < 65536; upper++)
      table[upper] = encodeSmall(formats[dtype], upperWord(upper << 16));
    encoders.set(dtype, table);
  }
  return table;
}
