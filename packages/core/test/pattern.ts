/** Bytes that differ from place to place, also between two places a power of two apart. */
export function pattern(length: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let at = 0; at < words.length; at++) words[at] = Math.imul(at + 1, 0x9e3779b1);
  return new Uint8Array(words.buffer, 0, length);
}
