/** The upper half of code page 437, in which zip names without the UTF-8 flag are written (APPNOTE 6.3.10, appendix D). */
const cp437 =
  "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A name as UTF-8, or `undefined` where its bytes are none. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes.slice()); // copied, for decoders refuse shared memory
  } catch {
    return undefined;
  }
}

/** A name in code page 437, whose lower half is ASCII. */
export function decodeCp437(bytes: Uint8Array): string {
  let name = "";
  for (const byte of bytes)
    name += byte < 128 ? String.fromCharCode(byte) : cp437.charAt(byte - 128);
  return name;
}

/** A member's name without the `.npy` that marks an array. */
export function arrayName(memberName: string): string {
  return memberName.endsWith(".npy") ? memberName.slice(0, -4) : memberName;
}

/** Whether everyone takes a member for an array: by its suffix, where it is no AppleDouble companion. */
export function hasArrayName(memberName: string): boolean {
  return memberName.endsWith(".npy") && !memberName.startsWith("__MACOSX/");
}
