import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import type { DirectoryPlace } from "./end-record.js";
import { invalidArchive, memberFault } from "./faults.js";
import {
  centralSignature,
  placeholder16,
  placeholder32,
  uint16,
  uint32,
  uint64,
  viewOf,
} from "./fields.js";
import { arrayName, decodeName } from "./names.js";

/** One member of an archive, as the central directory lists it. */
export interface NpzMember {
  /** As in the archive: with `.npy`. */
  readonly name: string;
  /** Bytes of the content, decompressed. */
  readonly size: number;
  readonly compressedSize: number;
  /** A number is a compression method that is not read here. */
  readonly method: "stored" | "deflate" | number;
  readonly crc32: number;
  /** Where the member's local header starts. */
  readonly offset: number;
}

/** What reading a member takes beside that. */
export interface Entry extends NpzMember {
  /** The name without `.npy`: what the array is called. */
  readonly key: string;
  readonly nameBytes: Uint8Array;
  readonly flags: number;
  /** Where the next member's local header or the directory starts: an end that the content must not pass. */
  limit: number;
}

/** The fixed part of a local header, before the name and the extra fields. */
export const localLength = 30;
const centralLength = 46;

/** Flag bits of APPNOTE 4.4.4: an encrypted member, sizes that follow the data, a name in UTF-8. */
export const encryptedFlags = 0x2041;
export const descriptorFlag = 0x0008;
export const utf8Flag = 0x0800;

/**
 * The entries of the central directory `bytes` that lies at `place`, in its order; everything it says is checked.
 * Throws `invalid-archive`, `invalid-utf8`, `invalid-name`, `duplicate-name`.
 */
export function parseDirectory(bytes: Uint8Array, { start, count }: DirectoryPlace): Entry[] {
  const entries: Entry[] = [];
  const byKey = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const view = viewOf(bytes.subarray(at));
    const left = view.byteLength;
    const isEntry = left >= centralLength && uint32(view, 0) === centralSignature;
    const end = isEntry ? extraEndOf(view) + uint16(view, 32) : Number.POSITIVE_INFINITY;
    if (end > left) {
      const offset = start + at;
      throw invalidArchive(
        `entry ${entries.length} of the directory, at ${offset}, is none or runs past its end`,
        { offset },
      );
    }
    const entry = readEntry(bytes.subarray(at, at + end), start);
    const { name, key } = entry;
    const twin = byKey.get(key);
    if (twin !== undefined) {
      const both = `${quote(twin)} and ${quote(name)}`;
      throw new TensorjarError("duplicate-name", `members ${both} are the same array`, { name });
    }
    byKey.set(key, name);
    entries.push(entry);
    at += end;
  }
  const actual = entries.length;
  if (actual !== count) {
    throw invalidArchive(`the directory holds ${actual} entries, the end record counts ${count}`, {
      offset: start,
      expected: count,
      actual,
    });
  }
  setLimits(entries, start);
  return entries;
}

function nameEndOf(view: DataView): number {
  return centralLength + uint16(view, 28);
}

function extraEndOf(view: DataView): number {
  return nameEndOf(view) + uint16(view, 30);
}

function readEntry(bytes: Uint8Array, limit: number): Entry {
  const view = viewOf(bytes);
  const flags = uint16(view, 8);
  const nameBytes = bytes.subarray(centralLength, nameEndOf(view));
  const name = decodeName(nameBytes, (flags & utf8Flag) !== 0);
  const zip64 = zip64Field(bytes.subarray(nameEndOf(view), extraEndOf(view)));
  let used = 0;
  const wide = (at: number): number => {
    const value = uint32(view, at);
    if (value !== placeholder32 || zip64 === undefined || used + 8 > zip64.byteLength) return value;
    used += 8;
    return uint64(zip64, used - 8);
  };
  const size = wide(24);
  const compressedSize = wide(20);
  const offset = wide(42);
  const method = methodOf(uint16(view, 10));
  const entry = { name, size, compressedSize, method, crc32: uint32(view, 16), offset };
  const disk = uint16(view, 34);
  const wideDisk = disk === placeholder16 && zip64?.byteLength === used + 4;
  if (disk !== 0 && !(wideDisk && uint32(zip64, used) === 0)) {
    throw memberFault("invalid-archive", entry, `lies on disk ${disk} of an archive that has one`);
  }
  if (method === "stored" && (flags & encryptedFlags) === 0 && size !== compressedSize) {
    throw memberFault(
      "invalid-archive",
      entry,
      `is stored and has two sizes: ${compressedSize} and ${size} bytes`,
      { expected: compressedSize, actual: size },
    );
  }
  return { ...entry, key: arrayName(name), nameBytes, flags, limit };
}

/** The method of a number in a header. */
export function methodOf(number: number): NpzMember["method"] {
  return number === 0 ? "stored" : number === 8 ? "deflate" : number;
}

/** The zip64 extra field; `undefined` where there is none or the fields before it do not parse. */
function zip64Field(extra: Uint8Array): DataView | undefined {
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length; ) {
    const end = at + 4 + uint16(view, at + 2);
    if (end > extra.length) return undefined;
    if (uint16(view, at) === 1) return viewOf(extra.subarray(at + 4, end));
    at = end;
  }
  return undefined;
}

/** Gives every entry the offset at which the next one starts; members must not overlap, and the first must be at 0. */
function setLimits(entries: readonly Entry[], directory: number): void {
  const byOffset = [...entries].sort((a, b) => a.offset - b.offset);
  const first = byOffset[0]?.offset ?? directory;
  if (first !== 0) throw invalidArchive(`${first} bytes stand before the archive`, { offset: 0 });
  byOffset.forEach((entry, i) => {
    entry.limit = byOffset[i + 1]?.offset ?? directory;
    checkEnd(entry, localLength + entry.nameBytes.length);
  });
}

/** Throws `invalid-archive` where content that starts `start` bytes after its local header runs past the entry's limit. */
export function checkEnd({ name, offset, compressedSize, limit }: Entry, start: number): void {
  const actual = offset + start + compressedSize;
  if (actual <= limit) return;
  const at = { name, offset: offset + start };
  const what = `of ${compressedSize} bytes at offset ${at.offset} overlaps or runs past the directory or member at ${limit}`;
  throw memberFault("invalid-archive", at, what, { expected: limit, actual });
}
