/** Signatures of zip records, as the little-endian numbers that stand in the file. */
export const localSignature = 0x04034b50;
export const centralSignature = 0x02014b50;
export const endSignature = 0x06054b50;
export const zip64EndSignature = 0x06064b50;
export const zip64LocatorSignature = 0x07064b50;

/** Values that say: the true one stands in a zip64 record. */
export const placeholder16 = 0xffff;
export const placeholder32 = 0xffffffff;

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function uint16(view: DataView, at: number): number {
  return view.getUint16(at, true);
}

export function uint32(view: DataView, at: number): number {
  return view.getUint32(at, true);
}

/** An unsigned 64-bit number; past 2^53 it is inexact, but larger than every size and offset that exists. */
export function uint64(view: DataView, at: number): number {
  return uint32(view, at) + uint32(view, at + 4) * 2 ** 32;
}
