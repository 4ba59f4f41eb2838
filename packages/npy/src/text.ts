/** Bytes as Latin-1, one character each. */
export function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes as UTF-8; `undefined` where they are none. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    // copied, for decoders refuse shared memory
    return utf8.decode(bytes.slice());
  } catch {
    return undefined;
  }
}
