import type { Bytes } from "@tensorjar/core";
import { allocate } from "@tensorjar/core/codec";
import { localLength, utf8Flag } from "./directory.js";
import {
  centralSignature,
  endSignature,
  localSignature,
  placeholder16,
  placeholder32,
  zip64EndSignature,
  zip64LocatorSignature,
} from "./fields.js";

/** A member ready to be written. */
export interface PackedMember {
  readonly nameBytes: Uint8Array;
  readonly method: 0 | 8;
  readonly crc32: number;
  readonly size: number;
  readonly compressedSize: number;
  readonly pieces: readonly Uint8Array[];
}

/** How the headers of an archive are written. */
export interface ArchiveStyle {
  /** The content of stored members starts at a multiple of this; 1 for no extra field. */
  readonly align: number;
  /** Whether members say that they come from Unix; of those from MS-DOS, `unzip` mistakes names that are not ASCII. */
  readonly unix: boolean;
  /** The MS-DOS date of every member. */
  readonly date: number;
  /** Whether names are flagged UTF-8 even when ASCII. */
  readonly utf8: boolean;
}

/** The headers of an archive whose members are written one after another. */
export interface ArchiveWriter {
  /** The local header of the next member, to be followed by its pieces. */
  add(member: PackedMember): Bytes;
  /** The central directory, entry by entry, and the end records. */
  end(): readonly Bytes[];
}

/** The id of the extra field that aligns what follows, as Android's zipalign writes it. */
const alignmentField = 0xd935;
const fieldHead = 4;

/** Read and written by the owner, as NumPy has it, in the half of the external attributes that is Unix's. */
const fileMode = 0o600 * 2 ** 16;

export function archiveWriter(style: ArchiveStyle): ArchiveWriter {
  const directory: Bytes[] = [];
  let offset = 0;
  return {
    add(member) {
      const local = localHeader(member, offset, style);
      directory.push(centralHeader(member, offset, style));
      offset += local.length + member.compressedSize;
      return local;
    },
    end: () => [...directory, endRecords(directory, offset)],
  };
}

/** The pieces in one array. Throws `limit-exceeded`. */
export function join(pieces: readonly Uint8Array[]): Bytes {
  const joined = allocate(totalLength(pieces));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

export function totalLength(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

/** A number of so many bytes; where it does not fit, the placeholder for a zip64 record's. */
type Field = readonly [width: number, value: number];

/** Numbers one after another, little-endian. */
function record(...fields: readonly Field[]): Bytes {
  const bytes = allocate(fields.reduce((sum, [width]) => sum + width, 0));
  let at = 0;
  for (const [width, value] of fields) {
    let rest = Math.min(value, 256 ** width - 1);
    for (const end = at + width; at < end; at++) {
      bytes[at] = rest % 256;
      rest = Math.floor(rest / 256);
    }
  }
  return bytes;
}

/** The fields from "version needed" to the name's length, which local headers and directory entries share. */
function sharedFields(member: PackedMember, zip64: boolean, style: ArchiveStyle): Field[] {
  const { nameBytes, method, crc32, size, compressedSize } = member;
  const isAscii = nameBytes.every((byte) => byte < 128);
  return [
    [2, zip64 ? 45 : 20],
    [2, style.utf8 || !isAscii ? utf8Flag : 0],
    [2, method],
    [2, 0],
    [2, style.date],
    [4, crc32],
    [4, compressedSize],
    [4, size],
    [2, nameBytes.length],
  ];
}

function localHeader(member: PackedMember, offset: number, style: ArchiveStyle): Bytes {
  const { align } = style;
  const { nameBytes, method, size, compressedSize } = member;
  const isWide = Math.max(size, compressedSize) >= placeholder32;
  const zip64 = zip64Field(isWide ? [size, compressedSize] : []);
  const end = localLength + nameBytes.length + zip64.length;
  let room = method === 0 ? (align - ((offset + end) % align)) % align : 0;
  while (room > 0 && room < fieldHead) room += align;
  const padding = allocate(room);
  if (room > 0) padding.set(record([2, alignmentField], [2, room - fieldHead]));
  const shared = sharedFields(member, isWide, style);
  const fixed = record([4, localSignature], ...shared, [2, zip64.length + room]);
  return join([fixed, nameBytes, zip64, padding]);
}

function centralHeader(member: PackedMember, offset: number, style: ArchiveStyle): Bytes {
  const { nameBytes, size, compressedSize } = member;
  const wide = [size, compressedSize, offset].filter((value) => value >= placeholder32);
  const zip64 = zip64Field(wide);
  const shared = sharedFields(member, wide.length > 0, style);
  const fixed = record(
    [4, centralSignature],
    [2, (wide.length > 0 ? 45 : 20) + (style.unix ? 3 << 8 : 0)],
    ...shared,
    [2, zip64.length],
    [6, 0], // the comment's length, the disk, internal attributes
    [4, style.unix ? fileMode : 0],
    [4, offset],
  );
  return join([fixed, nameBytes, zip64]);
}

function zip64Field(values: readonly number[]): Uint8Array {
  const fields = values.map((value): Field => [8, value]);
  return fields.length === 0 ? record() : record([2, 1], [2, 8 * fields.length], ...fields);
}

/** The end record of a directory at `offset`, after the zip64 records where a value does not fit. */
function endRecords(directory: readonly Uint8Array[], offset: number): Bytes {
  const count = directory.length;
  const length = totalLength(directory);
  const zip64: Field[] = [
    [4, zip64EndSignature],
    [8, 44],
    [2, 45],
    [2, 45],
    [8, 0], // the disks
    [8, count],
    [8, count],
    [8, length],
    [8, offset],
    [4, zip64LocatorSignature],
    [4, 0],
    [8, offset + length],
    [4, 1],
  ];
  return record(
    ...(count >= placeholder16 || Math.max(length, offset) >= placeholder32 ? zip64 : []),
    [4, endSignature],
    [4, 0],
    [2, count],
    [2, count],
    [4, length],
    [4, offset],
    [2, 0],
  );
}
