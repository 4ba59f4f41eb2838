import { compareNames } from "@tensorjar/core/codec";

/** Names sorted by code point, which is the order of their UTF-8 bytes (JavaScript's own is by UTF-16 unit). */
export function sortedNames(names: Iterable<string>): string[] {
  const sorted = [...names].sort();
  return sorted.some((name) => /[\ud800-\uffff]/.test(name)) ? sorted.sort(compareNames) : sorted;
}
