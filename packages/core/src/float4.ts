import { encodeBytes } from "./float8.js";
import { decodingTable } from "./small-table.js";

/** Float32 bits of float4 elements from `start` on: two a byte, the low nibble first. */
export function decodeFloat4(bytes: Uint8Array, start: number, to: Int32Array): void {
  const table = decodingTable("float4_e2m1fn");
  for (let i = 0; i < to.length; i++) {
    const byte = bytes[(start + i) >> 1] as number; // within the elements
    to[i] = table[(start + i) % 2 === 0 ? byte & 15 : byte >> 4] as number; // 16 entries
  }
}

/** Float32 bits as float4 elements from `start`, an even one, on. */
export function encodeFloat4(bits: Int32Array, bytes: Uint8Array, start: number): void {
  const codes = new Uint8Array(bits.length);
  encodeBytes("float4_e2m1fn", bits, codes);
  for (let i = 0; i < codes.length; i += 2) {
    bytes[(start + i) >> 1] = (codes[i] as number) | ((codes[i + 1] as number) << 4); // elements come in pairs
  }
}
