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

/** An unsigned 64-bit number; past 2^53 it is inexact, but larger than every size and offset that exists. */
export function readUint64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

export function writeUint64(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % 2 ** 32, true);
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
}

/** The data of the first extra field with this id; `undefined` where there is none or the fields before it do not parse. */
export function extraField(extra: Uint8Array, id: number): DataView | undefined {
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length; ) {
    const end = at + 4 + view.getUint16(at + 2, true);
    if (end > extra.length) return undefined;
    if (view.getUint16(at, true) === id) return viewOf(extra.subarray(at + 4, end));
    at = end;
  }
  return undefined;
}
