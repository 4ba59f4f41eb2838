import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import type { DirectoryPlace } from "./end-record.js";
import { invalidArchive, memberFault } from "./faults.js";
import { centralSignature, fields, numberAt, placeholder16, placeholder32 } from "./fields.js";
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
    const lengths = fields(bytes, at + 28, 2, 2, 2);
    const end = lengths.reduce((sum, length) => sum + length, at + centralLength);
    if (numberAt(bytes, at, 4) !== centralSignature || end > bytes.length) {
      const offset = start + at;
      throw invalidArchive(
        `entry ${entries.length} of the directory, at ${offset}, is none or runs past its end`,
        { offset },
      );
    }
    const entry = readEntry(bytes, at, start);
    const { name, key } = entry;
    const twin = byKey.get(key);
    if (twin !== undefined) {
      const both = `${quote(twin)} and ${quote(name)}`;
      throw new TensorjarError("duplicate-name", `members ${both} are the same array`, { name });
    }
    byKey.set(key, name);
    entries.push(entry);
    at = end;
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

function readEntry(bytes: Uint8Array, at: number, limit: number): Entry {
  const [flags, code, , , crc32, compressed, inflated, nameLength, extraLength, , disk, , , start] =
    fields(bytes, at + 8, 2, 2, 2, 2, 4, 4, 4, 2, 2, 2, 2, 2, 4, 4);
  const nameEnd = at + centralLength + nameLength;
  const nameBytes = bytes.subarray(at + centralLength, nameEnd);
  const name = decodeName(nameBytes, (flags & utf8Flag) !== 0);
  const zip64 = zip64Field(bytes.subarray(nameEnd, nameEnd + extraLength));
  let used = 0;
  const wide = (value: number): number => {
    if (value !== placeholder32 || used + 8 > zip64.length) return value;
    used += 8;
    return numberAt(zip64, used - 8, 8);
  };
  const size = wide(inflated);
  const compressedSize = wide(compressed);
  const offset = wide(start);
  const method = methodOf(code);
  const entry = { name, size, compressedSize, method, crc32, offset };
  const wideDisk = disk === placeholder16 && zip64.length === used + 4;
  if (disk !== 0 && !(wideDisk && numberAt(zip64, used, 4) === 0)) {
    throw memberFault("invalid-archive", entry, `lies on disk ${disk} of several`);
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

/** The zip64 extra field; empty where there is none or the fields before it do not parse. */
function zip64Field(extra: Uint8Array): Uint8Array {
  for (let at = 0; at + 4 <= extra.length; ) {
    const [id, length] = fields(extra, at, 2, 2);
    const start = at + 4;
    at = start + length;
    if (id === 1 && at <= extra.length) return extra.subarray(start, at);
  }
  return extra.subarray(0, 0);
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
