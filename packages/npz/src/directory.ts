import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { type DirectoryPlace, invalidArchive } from "./end-record.js";
import {
  centralSignature,
  extraField,
  placeholder16,
  placeholder32,
  readUint64,
  viewOf,
} from "./fields.js";
import { arrayName, decodeCp437, decodeUtf8, hasArrayName } from "./names.js";

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
export function parseDirectory(bytes: Uint8Array, place: DirectoryPlace): Entry[] {
  const view = viewOf(bytes);
  const entries: Entry[] = [];
  const keys = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    const left = bytes.length - at;
    const offset = place.start + at;
    if (left < centralLength || view.getUint32(at, true) !== centralSignature) {
      throw invalidArchive(
        `entry ${entries.length} of the directory, at ${offset}, is not a directory entry`,
        { offset },
      );
    }
    const nameEnd = centralLength + view.getUint16(at + 28, true);
    const extraEnd = nameEnd + view.getUint16(at + 30, true);
    const end = extraEnd + view.getUint16(at + 32, true);
    if (end > left) {
      throw invalidArchive(
        `entry ${entries.length} of the directory, at ${offset}, runs past its end`,
        { offset },
      );
    }
    const entry = readEntry(bytes.subarray(at, at + end), nameEnd, extraEnd, place.start, offset);
    const twin = keys.get(entry.key);
    if (twin !== undefined) throw duplicate(twin, entry.name);
    keys.set(entry.key, entry.name);
    entries.push(entry);
    at += end;
  }
  if (entries.length !== place.count) {
    throw invalidArchive(
      `the directory holds ${entries.length} entries, the end record counts ${place.count}`,
      {
        offset: place.start,
        expected: place.count,
        actual: entries.length,
      },
    );
  }
  setLimits(entries, place.start);
  return entries;
}

function readEntry(
  bytes: Uint8Array,
  nameEnd: number,
  extraEnd: number,
  directory: number,
  at: number,
): Entry {
  const view = viewOf(bytes);
  const flags = view.getUint16(8, true);
  const methodNumber = view.getUint16(10, true);
  const nameBytes = bytes.subarray(centralLength, nameEnd);
  const name = readName(nameBytes, (flags & utf8Flag) !== 0, at);
  const zip64 = extraField(bytes.subarray(nameEnd, extraEnd), 1);
  let used = 0;
  const wide = (value: number): number => {
    if (value !== placeholder32 || zip64 === undefined || used + 8 > zip64.byteLength) return value;
    used += 8;
    return readUint64(zip64, used - 8);
  };
  const size = wide(view.getUint32(24, true));
  const compressedSize = wide(view.getUint32(20, true));
  const offset = wide(view.getUint32(42, true));
  const disk = view.getUint16(34, true);
  if (
    disk !== 0 &&
    !(disk === placeholder16 && zip64?.byteLength === used + 4 && zip64.getUint32(used, true) === 0)
  ) {
    throw invalidArchive(`member ${quote(name)} lies on disk ${disk} of an archive that has one`, {
      name,
      offset: at,
    });
  }
  if (offset + localLength + nameBytes.length + compressedSize > directory) {
    throw invalidArchive(
      `member ${quote(name)} of ${compressedSize} bytes at offset ${offset} runs past the directory at ${directory}`,
      { name, offset, expected: directory, actual: offset + compressedSize },
    );
  }
  if (methodNumber === 0 && (flags & encryptedFlags) === 0 && size !== compressedSize) {
    throw invalidArchive(
      `stored member ${quote(name)} has two sizes: ${compressedSize} and ${size} bytes`,
      {
        name,
        offset: at,
        expected: compressedSize,
        actual: size,
      },
    );
  }
  const method = methodNumber === 0 ? "stored" : methodNumber === 8 ? "deflate" : methodNumber;
  return {
    name,
    size,
    compressedSize,
    method,
    crc32: view.getUint32(16, true),
    offset,
    key: arrayName(name),
    nameBytes,
    flags,
    limit: directory,
  };
}

function readName(bytes: Uint8Array, mustBeUtf8: boolean, at: number): string {
  const utf8 = decodeUtf8(bytes);
  const name = utf8 ?? decodeCp437(bytes);
  if (utf8 === undefined && mustBeUtf8) {
    throw new TensorjarError(
      "invalid-utf8",
      `the member name ${quote(name)} is flagged UTF-8 and is none`,
      {
        name,
        offset: at,
      },
    );
  }
  if (name.includes("\0")) {
    throw new TensorjarError("invalid-name", `the member name ${quote(name)} holds a NUL`, {
      name,
      offset: at,
    });
  }
  return name;
}

function duplicate(first: string, second: string): TensorjarError {
  const message =
    first === second
      ? `the archive holds two members called ${quote(first)}`
      : `the members ${quote(first)} and ${quote(second)} are one name once .npy is dropped`;
  return new TensorjarError("duplicate-name", message, { name: second });
}

/** Gives every entry the offset at which the next one starts; members must not overlap, and the first must be at 0. */
function setLimits(entries: readonly Entry[], directory: number): void {
  const byOffset = [...entries].sort((a, b) => a.offset - b.offset);
  const first = byOffset[0]?.offset ?? directory;
  if (first !== 0) {
    throw invalidArchive(`${first} bytes stand before the archive`, {
      offset: 0,
      expected: 0,
      actual: first,
    });
  }
  byOffset.forEach((entry, i) => {
    const next = byOffset[i + 1];
    if (next === undefined) return;
    entry.limit = next.offset;
    if (entry.offset + localLength + entry.nameBytes.length + entry.compressedSize > next.offset) {
      throw invalidArchive(
        `members ${quote(entry.name)} and ${quote(next.name)} overlap at offset ${next.offset}`,
        {
          name: next.name,
          offset: next.offset,
        },
      );
    }
  });
}

/** Whether no member is named like an array, so that the archive may be another program's. */
export function namesNoArray(entries: readonly Entry[]): boolean {
  return !entries.some((entry) => hasArrayName(entry.name));
}
