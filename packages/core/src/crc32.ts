/** Eight tables of 256 entries, one after another: entry `t * 256 + b` is the CRC of byte `b` followed by `t` zeros. */
let tables: Int32Array | undefined;

function makeTables(): Int32Array {
  const made = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    made[byte] = crc;
  }
  for (let at = 256; at < made.length; at++) {
    const before = made[at - 256] ?? 0;
    made[at] = (before >>> 8) ^ (made[before & 255] ?? 0);
  }
  return made;
}

/**
 * CRC-32 of `bytes` as zip, gzip and PNG define it, from 0 to 2^32−1.
 * `seed` is the CRC of what came before, so that a long stream can be summed piece by piece.
 */
export function crc32(bytes: Uint8Array, seed = 0): number {
  tables ??= makeTables();
  const t = tables;
  const { length } = bytes;
  const at8 = length - (length % 8);
  let crc = ~seed;
  let at = 0;
  // Every index is within its array; `!` says so, because a check of each would cost more than the sum.
  for (; at < at8; at += 8) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      t[1792 + (crc & 255)]! ^
      t[1536 + ((crc >>> 8) & 255)]! ^
      t[1280 + ((crc >>> 16) & 255)]! ^
      t[1024 + (crc >>> 24)]! ^
      t[768 + bytes[at + 4]!]! ^
      t[512 + bytes[at + 5]!]! ^
      t[256 + bytes[at + 6]!]! ^
      t[bytes[at + 7]!]!;
  }
  for (; at < length; at++) crc = (crc >>> 8) ^ t[(crc ^ bytes[at]!) & 255]!;
  return ~crc >>> 0;
}
