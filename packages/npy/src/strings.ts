import { type Bytes, TensorjarError } from "@tensorjar/core";
import { allocate, describe, quote } from "@tensorjar/core/codec";

/** Empty strings that a file may declare without a byte of data for each. */
const maxFreeStrings = 65_536;

/** UCS-4 text, trailing NULs cut from each item. Throws `invalid-utf8` for what is no text, `limit-exceeded`. */
export function decodeStrings(
  bytes: Uint8Array,
  count: number,
  itemSize: number,
  littleEndian: boolean,
): string[] {
  if (itemSize === 0 && count > maxFreeStrings) {
    throw new TensorjarError(
      "limit-exceeded",
      `the shape declares ${count} strings of width 0, over the limit of ${maxFreeStrings}`,
      { expected: maxFreeStrings, actual: count },
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const strings: string[] = [];
  for (let item = 0, start = 0; item < count; item++, start += itemSize) {
    let end = start + itemSize;
    while (end > start && view.getUint32(end - 4) === 0) end -= 4;
    let text = "";
    let afterHigh = false;
    for (let at = start; at < end; at += 4) {
      const code = view.getUint32(at, littleEndian);
      const block = code >>> 10; // 0x36 is of surrogates that come first, 0x37 of those that come second
      // a pair of surrogates would come back as one character
      if (code > 0x10ffff || (afterHigh && block === 0x37)) {
        throw new TensorjarError(
          "invalid-utf8",
          `string ${item} holds 0x${code.toString(16)}, which is not Unicode text`,
          { actual: code },
        );
      }
      afterHigh = block === 0x36;
      text += String.fromCodePoint(code);
    }
    strings.push(text);
  }
  return strings;
}

/** Strings as little-endian UCS-4 of `itemLength` code points each. Throws `invalid-argument`. */
export function encodeStrings(strings: readonly unknown[], itemLength: number): Bytes {
  const bytes = allocate(strings.length * itemLength * 4);
  const view = new DataView(bytes.buffer);
  for (const [item, text] of strings.entries()) {
    if (typeof text !== "string") {
      throw new TensorjarError("invalid-argument", `string ${item} is ${describe(text)}`);
    }
    if (text.endsWith("\0")) {
      throw new TensorjarError(
        "invalid-argument",
        `string ${item}, ${quote(text)}, ends with a NUL, which NumPy cuts when it reads`,
      );
    }
    let at = item * itemLength;
    for (const character of text) {
      if (at === (item + 1) * itemLength) {
        throw new TensorjarError(
          "invalid-argument",
          `string ${item}, ${quote(text)}, has more code points than the itemLength of ${itemLength}`,
          {
            expected: itemLength,
          },
        );
      }
      view.setUint32(4 * at++, character.codePointAt(0) ?? 0, true);
    }
  }
  return bytes;
}
