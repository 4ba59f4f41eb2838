import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

/** The most segments a path may have. */
export const maxDepth = 1000;

export function tooDeep(path: string): TensorjarError {
  return new TensorjarError(
    "limit-exceeded",
    `the tree is nested deeper than ${maxDepth} levels at ${quote(path)}`,
    { path, expected: maxDepth },
  );
}

/** A path as it stands in messages. */
export function at(path: string): string {
  return path === "" ? "the root of the tree" : quote(path);
}

/** Orders strings by code point, which is also the order of their UTF-8 bytes. */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above every other unit. */
function rank(unit: number): number {
  return unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
