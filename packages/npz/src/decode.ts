import { type BytesLike, TensorjarError } from "@tensorjar/core";
import { quote, toBytes } from "@tensorjar/core/codec";
import type { NpyArray } from "@tensorjar/npy";
import { checkOption, checkReadOptions, type NpyReadOptions } from "@tensorjar/npy/codec";
import { contentPrefix, contentSync, decodeMember, isArray, magicLength } from "./content.js";
import { type Entry, parseDirectory } from "./directory.js";
import { anotherFormat, endWindow, findDirectory, headLength, noArchive } from "./end-record.js";
import { contentStart } from "./local-header.js";
import { hasArrayName, namesNoArray } from "./names.js";

export interface NpzReadOptions extends NpyReadOptions {
  /** Bytes that the members read by one call may come to in total; more is `limit-exceeded`. */
  maxInflatedBytes?: number;
}

/**
 * The arrays of an archive by name (without `.npy`), in the archive's order; only those of `names`, where given.
 * Stored arrays are views of `bytes` where they are aligned, as `encodeNpz` aligns them, and copies otherwise or with
 * `copy: true`; deflated ones are in memory of their own. Every member read is compared with its CRC-32; members that
 * are not arrays are skipped.
 * Throws `not-this-format`, `truncated`, `invalid-archive`, `invalid-name`, `invalid-utf8`, `duplicate-name`,
 * `not-found`, `encrypted`, `unsupported`, `limit-exceeded`, `checksum-mismatch`, and what `decodeNpy` throws.
 */
export function decodeNpz(
  bytes: BytesLike,
  options: NpzReadOptions & { names?: Iterable<string> } = {},
): Map<string, NpyArray> {
  const take = budget(options);
  const file = toBytes(bytes);
  const head = file.subarray(0, headLength);
  const place = findDirectory(file.subarray(-endWindow), file.length);
  if (typeof place === "string") throw noArchive(head, file.length, place);
  const entries = parseDirectory(file.subarray(place.start, place.start + place.length), place);
  const other = namesNoArray(entries) ? anotherFormat(head) : undefined;
  if (other !== undefined) throw other;
  const every = options.names === undefined;
  const arrays = new Map<string, NpyArray>();
  for (const entry of select(entries, options.names)) {
    const mayDiffer = every && !hasArrayName(entry.name);
    if (mayDiffer && entry.size < magicLength) continue;
    const region = file.subarray(entry.offset, entry.limit);
    const start = contentStart(entry, region);
    const raw = region.subarray(start, start + entry.compressedSize);
    if (mayDiffer && !isArray(contentPrefix(entry, raw, magicLength))) continue;
    take(entry);
    const owned = entry.method === "deflate";
    arrays.set(entry.key, decodeMember(entry, contentSync(entry, raw), options, owned));
  }
  return arrays;
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
      `with member ${quote(name)} of ${size} bytes the members read come to ${actual}, over the limit of ${expected}`,
      { name, offset, expected, actual, hint: "maxInflatedBytes sets the limit" },
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
