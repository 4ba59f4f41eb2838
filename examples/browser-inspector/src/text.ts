/** Bytes in binary units: `1.50 MiB`. */
export function byteText(bytes: number): string {
  if (bytes < 1024) return countText(bytes, "byte");
  let value = bytes;
  let unit = -1;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(value < 10 ? 2 : 1)} ${["KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

/** How many there are of something: `1,024 tensors`. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Lengths of the axes: `256 × 1024`; an array without axes is a scalar. */
export function shapeText(shape: readonly number[]): string {
  if (shape.length === 0) return "scalar";
  return shape.length === 1 ? `[${shape[0]}]` : shape.join(" × ");
}

/** A number in at most about ten characters; integers of 64 bits in full. */
export function numberText(value: number | bigint): string {
  if (typeof value === "bigint") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e10) return String(value);
  const rounded = Number(value.toPrecision(5));
  return Math.abs(rounded) < 1e10 ? String(rounded) : rounded.toExponential();
}

/** What a file says, fit to be seen: control and format characters are shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** What a tensor is called on the page: the only array of an .npy file has no name. */
export function nameText(name: string): string {
  return name === "" ? "the array" : printable(name);
}

/** An element as `toNested` gives it: a complex number is a list of its parts. */
export function valueText(value: unknown): string {
  return Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
}
