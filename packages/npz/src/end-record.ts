import { TensorjarError } from "@tensorjar/core";
import { latin1, otherFormat } from "@tensorjar/npy/codec";
import { isArray } from "./content.js";
import { localLength } from "./directory.js";
import { invalidArchive } from "./faults.js";
import {
  centralSignature,
  endSignature,
  fields,
  localSignature,
  numberAt,
  placeholder16,
  placeholder32,
  zip64EndSignature,
  zip64LocatorSignature,
} from "./fields.js";
import { hasArrayName } from "./names.js";

const endLength = 22;
const locatorLength = 20;
const zip64EndLength = 56;

/** Bytes at the end of a file in which the end record is looked for; its comment may take 64 KiB of them, what follows it the rest. */
export const endWindow: number = 1 << 20;

/** First bytes of a file by which another format is told. */
export const headLength = 512;

/** Where the central directory lies. */
export interface DirectoryPlace {
  readonly start: number;
  readonly length: number;
  readonly count: number;
}

/**
 * Looks for the end record in `window`, the last bytes of a file of `size` bytes: the record whose comment reaches the
 * end exactly and whose directory (or zip64 record) ends where it starts. What is wrong where there is none, in words:
 * empty where there is not even a signature.
 * Throws `invalid-archive` where two records could be meant, because readers would differ.
 */
export function findDirectory(window: Uint8Array, size: number): DirectoryPlace | string {
  const start = size - window.length;
  const complete: number[] = [];
  let fault = "";
  let found: { readonly at: number; readonly place: DirectoryPlace } | undefined;
  for (let at = window.length - 3; at > 0; ) {
    at = window.lastIndexOf(0x50, at - 1); // "P"
    if (found && window.length - at > endLength + 0xffff) break;
    if (at < 0 || numberAt(window, at, 4) !== endSignature) continue;
    const left = window.length - at - endLength;
    const after = left < 0 ? left : left - numberAt(window, at + 20, 2);
    if (after !== 0) {
      fault ||= `${Math.abs(after)} bytes ${after > 0 ? "stand after" : "are missing of"} the end record at ${start + at} and its comment`;
      continue;
    }
    const place = readEndRecord(window, at, start);
    if (typeof place === "string") fault = place;
    else if (found) throw nested(start + at);
    else found = { at, place };
    complete.push(at);
  }
  if (found === undefined) return fault;
  const { at: outer, place } = found;
  if (complete.some((at) => at > outer && isArchiveEnd(window, at, outer + endLength)))
    throw nested(start + outer);
  return place;
}

function nested(offset: number): TensorjarError {
  return invalidArchive(`the comment of the end record at ${offset} holds another archive`, {
    offset,
  });
}

/** Whether the record at `at`, in a comment that starts at `from`, ends an archive of its own, with offsets of its own. */
function isArchiveEnd(window: Uint8Array, at: number, from: number): boolean {
  const [count, length] = fields(window, at + 10, 2, 4);
  if (length === 0) return count === 0;
  const stands = (signature: number, where: number): boolean =>
    where >= from && numberAt(window, where, 4) === signature;
  return stands(centralSignature, at - length) || stands(zip64LocatorSignature, at - locatorLength);
}

/** Where the end record at `at` says that the directory lies, or why that cannot be. */
function readEndRecord(window: Uint8Array, at: number, start: number): DirectoryPlace | string {
  const short = fields(window, at + 4, 2, 2, 2, 2, 4, 4);
  let values = short;
  let end = start + at;
  const locator = at - locatorLength;
  const [signature, locatorDisk, recordAt, disks] = fields(window, locator, 4, 4, 8, 4);
  if (signature === zip64LocatorSignature) {
    end = recordAt;
    const at64 = end - start;
    const [signature64, length64] = fields(window, at64, 4, 8);
    if (
      at64 < 0 ||
      at64 + zip64EndLength > locator ||
      signature64 !== zip64EndSignature ||
      at64 + 12 + length64 !== locator
    )
      return `the zip64 locator at ${start + locator} points at offset ${end}, where no zip64 record ends before it`;
    values = fields(window, at64 + 16, 4, 4, 8, 8, 8, 8);
    if (locatorDisk !== 0 || disks > 1) values[0] = 1;
    else if (
      !short.every(
        (value, i) => value === values[i] || value === (i < 4 ? placeholder16 : placeholder32),
      )
    )
      return `the end records at ${end} and ${start + at} disagree about the directory`;
  }
  const [disk, directoryDisk, countHere, count, length, offset] = values;
  if (disk !== 0 || directoryDisk !== 0 || countHere !== count)
    return `the end record at ${end} counts ${countHere} of ${count} entries on one of several disks`;
  if (offset + length !== end)
    return `the end record at ${end} puts a directory of ${length} bytes at offset ${offset}, which ends ${end - offset - length} bytes before it`;
  return { start: offset, length, count };
}

/** The error for a file of `size` bytes without an archive; `head` is its first bytes, `fault` what the search found. */
export function noArchive(head: Uint8Array, size: number, fault: string): TensorjarError {
  const other = anotherFormat(head);
  if (other !== undefined) return other;
  if (fault !== "") return invalidArchive(fault);
  const isCut = numberAt(head, 0, 4) === localSignature;
  if (size > 0 && !isCut) return notNpz("no known format");
  const what = isCut ? `of ${size} bytes ends before its end record` : "is empty";
  return new TensorjarError("truncated", `the archive ${what}`, { offset: size });
}

/** What PyTorch writes into its archives, wherever among the members: pickles at the top or in one folder. */
const pickle = /^([^/]*\/)?(data|constants)\.pkl/;

/** Throws `not-this-format` for another program's archive, in which no member is named like an array. */
export function checkNames(members: readonly { readonly name: string }[]): void {
  if (members.some(({ name }) => hasArrayName(name))) return;
  if (members.some(({ name }) => pickle.test(name))) throw notNpz("a PyTorch checkpoint");
}

/** The error for a file that by its first bytes is another format than a zip archive of arrays. */
function anotherFormat(head: Uint8Array): TensorjarError | undefined {
  const text = latin1(head);
  if (isArray(head)) return notNpz("an .npy file: try decodeNpy");
  const isZip = text.startsWith("PK");
  if (isZip && pickle.test(text.slice(localLength))) return notNpz("a PyTorch checkpoint");
  const what = isZip ? undefined : otherFormat(text);
  return what === undefined ? undefined : notNpz(what);
}

function notNpz(what: string): TensorjarError {
  const message = `this is not an .npz archive but ${what}`;
  return new TensorjarError("not-this-format", message, { offset: 0 });
}
