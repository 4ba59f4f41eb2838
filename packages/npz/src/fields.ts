/** Signatures of zip records, as the little-endian numbers that stand in the file. */
export const localSignature = 0x04034b50;
export const centralSignature = 0x02014b50;
export const endSignature = 0x06054b50;
export const zip64EndSignature = 0x06064b50;
export const zip64LocatorSignature = 0x07064b50;

/** Values that say: the true one stands in a zip64 record. */
export const placeholder16 = 0xffff;
export const placeholder32 = 0xffffffff;

/** A little-endian number; past 2^53 it is inexact, but larger than every size and offset that exists. */
export function numberAt(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = width - 1; i >= 0; i--) value = 256 * value + (bytes[at + i] ?? 0);
  return value;
}

/** Little-endian numbers one after another, each of so many bytes. */
export function fields<Widths extends readonly number[]>(
  bytes: Uint8Array,
  start: number,
  ...widths: Widths
): { [Index in keyof Widths]: number } {
  let at = start;
  const values = widths.map((width) => {
    at += width;
    return numberAt(bytes, at - width, width);
  });
  return values as { [Index in keyof Widths]: number }; // one for each width
}
