/** Names sorted by code point, which is the order of their UTF-8 bytes (JavaScript's own is by UTF-16 unit). */
export function sortedNames(names: Iterable<string>): string[] {
  const sorted = [...names].sort();
  return sorted.some((name) => /[\ud800-\uffff]/.test(name)) ? sorted.sort(byCodePoint) : sorted;
}

function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above U+FFFF, so they come after U+E000 to U+FFFF. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
