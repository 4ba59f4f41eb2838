import { type BytesLike, TensorjarError } from "@tensorjar/core";
import { quote, toBytes } from "@tensorjar/core/codec";
import type { NpyArray } from "@tensorjar/npy";
import { checkReadOptions, type NpyReadOptions } from "@tensorjar/npy/codec";
import { arrayOf, contentPrefix, contentSync, isArray, magicLength } from "./content.js";
import { type Entry, namesNoArray, parseDirectory } from "./directory.js";
import { anotherFormat, endWindow, farWindow, findDirectory, noArchive } from "./end-record.js";
import { checkReadable, contentStart } from "./local-header.js";
import { hasArrayName } from "./names.js";

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
  const tail = (length: number): Uint8Array => file.subarray(Math.max(0, file.length - length));
  const found = findDirectory(tail(endWindow), file.length);
  if (!("place" in found)) throw noArchive(head, tail(farWindow), file.length, found.fault);
  const { place } = found;
  const entries = parseDirectory(file.subarray(place.start, place.start + place.length), place);
  const other = namesNoArray(entries) ? anotherFormat(head) : undefined;
  if (other !== undefined) throw other;
  const arrays = new Map<string, NpyArray>();
  for (const entry of select(entries, options.names)) {
    if (options.names === undefined && isSkipped(entry)) continue;
    checkReadable(entry);
    const region = file.subarray(entry.offset, entry.limit);
    const start = contentStart(entry, region);
    const raw = region.subarray(start, start + entry.compressedSize);
    if (
      options.names === undefined &&
      !hasArrayName(entry.name) &&
      !isArray(contentPrefix(entry, raw, magicLength))
    )
      continue;
    take(entry);
    arrays.set(
      entry.key,
      arrayOf(entry, contentSync(entry, raw), options, entry.method === "deflate"),
    );
  }
  return arrays;
}

/** First bytes of a file by which its format is told. */
export const headLength = 4096;

/** Whether a member is too small to be an array and does not claim to be one. */
export function isSkipped(entry: Entry): boolean {
  return entry.size < magicLength && !hasArrayName(entry.name);
}

/**
 * Checks the options and returns what each member's size is taken from before it is read.
 * Throws `invalid-argument`; the result throws `limit-exceeded`.
 */
export function budget(options: NpzReadOptions): (entry: Entry) => void {
  checkReadOptions(options);
  const { maxInflatedBytes = Number.POSITIVE_INFINITY } = options;
  if (typeof maxInflatedBytes !== "number" || !(maxInflatedBytes >= 0)) {
    throw new TensorjarError(
      "invalid-argument",
      `maxInflatedBytes is ${String(maxInflatedBytes)}`,
      {
        name: "maxInflatedBytes",
        expected: "a number of bytes",
        actual: maxInflatedBytes,
      },
    );
  }
  let total = 0;
  return ({ name, size, offset }) => {
    total += size;
    if (total <= maxInflatedBytes) return;
    throw new TensorjarError(
      "limit-exceeded",
      `with member ${quote(name)} of ${size} bytes the members read come to ${total}, over the limit of ${maxInflatedBytes}`,
      {
        name,
        offset,
        expected: maxInflatedBytes,
        actual: total,
        hint: "maxInflatedBytes sets the limit",
      },
    );
  };
}

/** The entries called `names`, with or without `.npy`, in the archive's order; all without `names`. Throws `not-found`. */
export function select(
  entries: readonly Entry[],
  names: Iterable<string> | undefined,
): readonly Entry[] {
  if (names === undefined) return entries;
  if (typeof names === "string" || typeof names?.[Symbol.iterator] !== "function") {
    throw new TensorjarError("invalid-argument", "names is no list of names", {
      name: "names",
      hint: "give an array of names, such as ['x']",
    });
  }
  const find = finder(entries);
  const wanted = new Set([...names].map(find));
  return entries.filter((entry) => wanted.has(entry));
}

/** A look-up by an array's name or else a member's. It throws `not-found`. */
export function finder(entries: readonly Entry[]): (name: string) => Entry {
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return (name) => {
    const entry = byKey.get(name) ?? byName.get(name);
    if (entry !== undefined) return entry;
    const some = entries.slice(0, 5).map(({ key }) => quote(key));
    throw new TensorjarError("not-found", `the archive holds no member ${quote(String(name))}`, {
      name,
      hint:
        some.length === 0
          ? "it is empty"
          : `it has ${some.join(", ")}${entries.length > 5 ? ", ..." : ""}`,
    });
  };
}
