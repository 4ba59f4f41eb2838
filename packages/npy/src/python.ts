const short = new Map([
  ["\\", "\\\\"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\r", "\\r"],
]);

/** A string as Python's `repr` writes it. */
export function stringRepr(text: string): string {
  const quotes = text.includes("'") && !text.includes('"') ? '"' : "'";
  let result = quotes;
  for (const character of text) {
    if (character === quotes) result += `\\${character}`;
    else if (character !== " " && /[\\\p{C}\p{Z}]/u.test(character)) {
      result += short.get(character) ?? numericEscape(character.codePointAt(0) ?? 0);
    } else result += character;
  }
  return result + quotes;
}

function numericEscape(code: number): string {
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** A tuple of integers as Python writes it: `()`, `(3,)`, `(2, 3)`. */
export function tupleRepr(dims: readonly number[]): string {
  return dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(", ")})`;
}
