import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { checkOption, checkReadOptions, type NpyReadOptions } from "@tensorjar/npy/codec";
import type { Entry } from "./directory.js";

export interface NpzReadOptions extends NpyReadOptions {
  /** Bytes that the members read by one call may come to in total; more is `limit-exceeded`. */
  maxInflatedBytes?: number;
}

/**
 * Checks the options and returns what each member's size is taken from before it is read.
 * Throws `invalid-argument`; the result throws `limit-exceeded`.
 */
export function budget(options: NpzReadOptions): (entry: Entry) => void {
  checkReadOptions(options);
  const { maxInflatedBytes: expected = Number.POSITIVE_INFINITY } = options;
  checkOption("maxInflatedBytes", expected, typeof expected === "number" && expected >= 0);
  let actual = 0;
  return ({ name, size, offset }) => {
    actual += size;
    if (actual <= expected) return;
    throw new TensorjarError(
      "limit-exceeded",
      `with member ${quote(name)} of ${size} bytes the members read come to ${actual}, over maxInflatedBytes, ${expected}`,
      { name, offset, expected, actual },
    );
  };
}

/** The entries called `names`, with or without `.npy`, in the archive's order; all without `names`. Throws `not-found`. */
export function select(
  entries: readonly Entry[],
  names: Iterable<string> | undefined,
  find: (name: string) => Entry = finder(entries),
): readonly Entry[] {
  if (names === undefined) return entries;
  const isList = typeof names !== "string" && typeof names?.[Symbol.iterator] === "function";
  checkOption("names", names, isList);
  const wanted = new Set([...names].map(find));
  return entries.filter((entry) => wanted.has(entry));
}

/** A look-up by an array's name, or else a member's; `bytes` prefers the member's. It throws `not-found`. */
export function finder(entries: readonly Entry[]): (name: string, bytes?: boolean) => Entry {
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return (name, bytes = false) => {
    const entry = bytes
      ? (byName.get(name) ?? byKey.get(name))
      : (byKey.get(name) ?? byName.get(name));
    if (entry !== undefined) return entry;
    const some = entries.slice(0, 5).map(({ key }) => quote(key));
    throw new TensorjarError(
      "not-found",
      `the archive holds no member ${quote(name)} among its ${entries.length}: ${some.join(", ")}`,
      { name },
    );
  };
}
