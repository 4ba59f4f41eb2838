import type { BytesLike } from "@tensorjar/core";
import { toBytes } from "@tensorjar/core/codec";
import type { NpyArray } from "@tensorjar/npy";
import { inflatePrefix, inflateSync } from "#inflate-sync";
import { contentPrefix, contentSync, decodeMember, isArray, magicLength } from "./content.js";
import { parseDirectory } from "./directory.js";
import { checkNames, endWindow, findDirectory, headLength, noArchive } from "./end-record.js";
import { contentStart } from "./local-header.js";
import { hasArrayName } from "./names.js";
import { budget, type NpzReadOptions, select } from "./select.js";

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
  const place = findDirectory(file.subarray(-endWindow), file.length);
  if (typeof place === "string") throw noArchive(file.subarray(0, headLength), file.length, place);
  const entries = parseDirectory(file.subarray(place.start, place.start + place.length), place);
  checkNames(entries);
  const every = options.names === undefined;
  const arrays = new Map<string, NpyArray>();
  for (const entry of select(entries, options.names)) {
    const mayDiffer = every && !hasArrayName(entry.name);
    if (mayDiffer && entry.size < magicLength) continue;
    if (!mayDiffer) take(entry);
    const region = file.subarray(entry.offset, entry.limit);
    const start = contentStart(entry, region);
    const raw = region.subarray(start, start + entry.compressedSize);
    const owned = entry.method === "deflate";
    const prefix = owned ? inflatePrefix : undefined;
    if (mayDiffer) {
      if (!isArray(contentPrefix(entry, raw, magicLength, prefix))) continue;
      take(entry);
    }
    const content = contentSync(entry, raw, owned ? inflateSync : undefined);
    arrays.set(entry.key, decodeMember(entry, content, options, owned));
  }
  return arrays;
}
