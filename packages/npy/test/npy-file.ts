/** An .npy file with exactly the given header text, and `data`: bytes, or how many zeros. */
export function npyFile(
  header: string,
  { version = 1, data = 0 }: { version?: 1 | 2 | 3; data?: Uint8Array | number } = {},
): Uint8Array<ArrayBuffer> {
  const text =
    version === 3
      ? new TextEncoder().encode(header)
      : Uint8Array.from(header, (c) => c.charCodeAt(0));
  const start = version === 1 ? 10 : 12;
  const bytes = typeof data === "number" ? new Uint8Array(data) : data;
  const file = new Uint8Array(start + text.length + bytes.length);
  file.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, version, 0]);
  const view = new DataView(file.buffer);
  if (version === 1) view.setUint16(8, text.length, true);
  else view.setUint32(8, text.length, true);
  file.set(text, start);
  file.set(bytes, start + text.length);
  return file;
}
