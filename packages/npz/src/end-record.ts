import { sniff, TensorjarError } from "@tensorjar/core";
import { notThisFormat } from "@tensorjar/core/codec";
import {
  centralSignature,
  endSignature,
  localSignature,
  placeholder16,
  placeholder32,
  readUint64,
  viewOf,
  zip64EndSignature,
  zip64LocatorSignature,
} from "./fields.js";

const endLength = 22;
const locatorLength = 20;
const zip64EndLength = 56;

/** Bytes at the end of a file that hold the end record with the longest comment, and the zip64 records before it. */
export const endWindow: number = zip64EndLength + locatorLength + endLength + 0xffff;

/** Where the central directory lies. */
export interface DirectoryPlace {
  readonly start: number;
  readonly length: number;
  readonly count: number;
}

/** An end record whose comment reaches the end of the file: where it points, or why it cannot be the archive's. */
interface Candidate {
  readonly at: number;
  readonly place: DirectoryPlace | undefined;
  readonly fault: string;
}

/** What was found at the end of a file. */
export type EndSearch = { readonly place: DirectoryPlace } | { readonly fault: string | undefined };

/**
 * Looks for the end record in `window`, the last bytes of a file of `size` bytes: the record whose comment reaches the
 * end exactly and whose directory (or zip64 records) ends where it starts. No `fault` means: no signature at all.
 * Throws `invalid-archive` where two records could be meant, because readers would differ.
 */
export function findDirectory(window: Uint8Array, size: number): EndSearch {
  const start = size - window.length;
  const view = viewOf(window);
  const candidates: Candidate[] = [];
  let fault: string | undefined;
  for (let at = window.length - 4; at >= 0; at--) {
    at = window.lastIndexOf(0x50, at);
    if (at < 0) break;
    if (at + 4 > window.length || view.getUint32(at, true) !== endSignature) continue;
    if (at + endLength > window.length) {
      fault ??= `the end record at ${start + at} is cut off`;
      continue;
    }
    const after = window.length - (at + endLength + view.getUint16(at + 20, true));
    if (after !== 0) {
      fault ??=
        after > 0
          ? `${after} bytes stand after the end record at ${start + at} and its comment`
          : `the comment of the end record at ${start + at} lacks ${-after} bytes`;
      continue;
    }
    candidates.push({ at, ...readEndRecord(view, at, start) });
  }
  const fitting = candidates.filter((candidate) => candidate.place !== undefined);
  const [chosen, other] = fitting;
  if (chosen?.place === undefined) return { fault: candidates[0]?.fault ?? fault };
  const inside =
    other ?? candidates.find((c) => c.at > chosen.at && isArchiveEnd(view, c.at, chosen.at));
  if (inside !== undefined) {
    throw invalidArchive(
      `the archive's comment holds another archive: end records stand at ${start + chosen.at} and ${start + inside.at}`,
      { offset: start + chosen.at },
    );
  }
  return { place: chosen.place };
}

/** Whether the record at `at`, in the comment of the one at `outer`, ends an archive of its own, with offsets of its own. */
function isArchiveEnd(view: DataView, at: number, outer: number): boolean {
  const length = view.getUint32(at + 12, true);
  const directory = at - length;
  if (length === 0) return view.getUint16(at + 10, true) === 0;
  if (directory >= outer + endLength && length >= 46)
    return view.getUint32(directory, true) === centralSignature;
  const locator = at - locatorLength;
  return locator >= outer + endLength && view.getUint32(locator, true) === zip64LocatorSignature;
}

function readEndRecord(view: DataView, at: number, start: number): Omit<Candidate, "at"> {
  const end = start + at;
  const disk = view.getUint16(at + 4, true);
  const directoryDisk = view.getUint16(at + 6, true);
  const countHere = view.getUint16(at + 8, true);
  const count = view.getUint16(at + 10, true);
  const length = view.getUint32(at + 12, true);
  const offset = view.getUint32(at + 16, true);
  const locator = at - locatorLength;
  if (locator < 0 || view.getUint32(locator, true) !== zip64LocatorSignature) {
    const place = { start: offset, length, count };
    return fit(place, disk, directoryDisk, countHere, end, `the end record at ${end}`);
  }
  const record = readUint64(view, locator + 8);
  const at64 = record - start;
  const what = `the zip64 end record at ${record}`;
  if (view.getUint32(locator + 4, true) !== 0 || view.getUint32(locator + 16, true) > 1)
    return unfit(`the zip64 locator at ${start + locator} speaks of several disks`);
  if (
    at64 < 0 ||
    at64 + zip64EndLength > locator ||
    view.getUint32(at64, true) !== zip64EndSignature
  )
    return unfit(
      `the zip64 locator at ${start + locator} points at offset ${record}, where no zip64 end record stands`,
    );
  if (at64 + 12 + readUint64(view, at64 + 4) !== locator)
    return unfit(`${what} does not end where its locator starts`);
  const place = {
    start: readUint64(view, at64 + 48),
    length: readUint64(view, at64 + 40),
    count: readUint64(view, at64 + 32),
  };
  const agree =
    (disk === placeholder16 || disk === 0) &&
    (directoryDisk === placeholder16 || directoryDisk === 0) &&
    (countHere === placeholder16 || countHere === place.count) &&
    (count === placeholder16 || count === place.count) &&
    (length === placeholder32 || length === place.length) &&
    (offset === placeholder32 || offset === place.start);
  if (!agree) return unfit(`${what} and the end record at ${end} disagree about the directory`);
  return fit(
    place,
    view.getUint32(at64 + 16, true),
    view.getUint32(at64 + 20, true),
    readUint64(view, at64 + 24),
    record,
    what,
  );
}

function fit(
  place: DirectoryPlace,
  disk: number,
  directoryDisk: number,
  countHere: number,
  end: number,
  what: string,
): Omit<Candidate, "at"> {
  const { start, length, count } = place;
  if (disk !== 0 || directoryDisk !== 0 || countHere !== count)
    return unfit(`${what} speaks of several disks`);
  if (start + length !== end) {
    return unfit(
      `${what} puts a directory of ${length} bytes at offset ${start}, which does not end where the record starts`,
    );
  }
  return { place, fault: "" };
}

function unfit(fault: string): Omit<Candidate, "at"> {
  return { place: undefined, fault };
}

/** Bytes at the end of a file in which a signature is looked for, to tell an archive that is cut from one with more behind it. */
export const farWindow: number = 1 << 20;

/**
 * The error for a file in which no end record fits. `head` is its first bytes, `tail` its last {@link farWindow} bytes,
 * `fault` what the search found.
 */
export function noArchive(
  head: Uint8Array,
  tail: Uint8Array,
  size: number,
  fault: string | undefined,
): TensorjarError {
  const other = anotherFormat(head);
  if (other !== undefined) return other;
  if (fault !== undefined) return invalidArchive(fault);
  const view = viewOf(tail);
  for (let at = tail.length - 4; at >= 0; at--) {
    if (view.getUint32(at, true) !== endSignature) continue;
    const after = tail.length - at - endLength;
    return invalidArchive(
      `${after} bytes stand after the end record at ${size - tail.length + at}`,
    );
  }
  if (head.length >= 4 && viewOf(head).getUint32(0, true) === localSignature) {
    return new TensorjarError(
      "truncated",
      `the archive of ${size} bytes has no end record, so its end is missing`,
      { offset: size, hint: "copy or download it again" },
    );
  }
  return (
    notThisFormat(head, "npz", what) ??
    new TensorjarError("not-this-format", "this is not an .npz archive: it holds no zip records", {
      offset: 0,
      expected: "npz",
      actual: "unknown",
    })
  );
}

const what = "an .npz archive";

/** The error for a file that by its first bytes is another format than a zip archive of arrays. */
export function anotherFormat(head: Uint8Array): TensorjarError | undefined {
  return sniff(head) === "unknown" ? undefined : notThisFormat(head, "npz", what);
}

export function invalidArchive(
  message: string,
  details: {
    readonly name?: string;
    readonly offset?: number;
    readonly expected?: unknown;
    readonly actual?: unknown;
  } = {},
): TensorjarError {
  return new TensorjarError("invalid-archive", message, details);
}
