/** Turns the byte order of every `unit` bytes (2, 4 or 8) in place. */
export function swapBytes(bytes: Uint8Array, unit: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - unit + 1;
  if (unit === 2) {
    for (let at = 0; at < end; at += 2) view.setUint16(at, view.getUint16(at), true);
  } else if (unit === 4) {
    for (let at = 0; at < end; at += 4) view.setUint32(at, view.getUint32(at), true);
  } else {
    for (let at = 0; at < end; at += 8) {
      const high = view.getUint32(at);
      view.setUint32(at, view.getUint32(at + 4), true);
      view.setUint32(at + 4, high, true);
    }
  }
}
