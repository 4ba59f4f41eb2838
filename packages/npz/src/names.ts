import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { decodeUtf8 } from "@tensorjar/npy/codec";

/** The upper half of code page 437, in which zip names without the UTF-8 flag are written (APPNOTE 6.3.10, appendix D). */
const cp437 =
  "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";

/** A member's name: UTF-8 where it is, which a flag may demand, else code page 437. Throws `invalid-utf8`, `invalid-name`. */
export function decodeName(bytes: Uint8Array, flagged: boolean): string {
  const utf8 = decodeUtf8(bytes);
  const name =
    utf8 ?? Array.from(bytes, (byte) => cp437[byte - 128] ?? String.fromCharCode(byte)).join("");
  const bad = utf8 === undefined && flagged;
  if (bad || name.includes("\0")) {
    const fault = bad ? "is flagged UTF-8 and is none" : "holds a NUL";
    throw new TensorjarError(
      bad ? "invalid-utf8" : "invalid-name",
      `the member name ${quote(name)} ${fault}`,
      { name },
    );
  }
  return name;
}

/** A member's name without the `.npy` that marks an array. */
export function arrayName(memberName: string): string {
  return memberName.replace(/\.npy$/, "");
}

/** Whether everyone takes a member for an array: by its suffix, where it is no AppleDouble companion. */
export function hasArrayName(memberName: string): boolean {
  return memberName.endsWith(".npy") && !memberName.startsWith("__MACOSX/");
}
