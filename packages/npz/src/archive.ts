import type { Bytes } from "@tensorjar/core";
import { allocate } from "@tensorjar/core/codec";
import { localLength, utf8Flag } from "./directory.js";
import {
  centralSignature,
  endSignature,
  localSignature,
  placeholder16,
  placeholder32,
  viewOf,
  writeUint64,
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

/** The fields from "version needed" to the name's length, which local headers and directory entries share. */
function writeShared(
  view: DataView,
  at: number,
  member: PackedMember,
  zip64: boolean,
  style: ArchiveStyle,
): void {
  const { nameBytes, method, crc32, size, compressedSize } = member;
  const isAscii = nameBytes.every((byte) => byte < 128);
  view.setUint16(at, zip64 ? 45 : 20, true);
  view.setUint16(at + 2, style.utf8 || !isAscii ? utf8Flag : 0, true);
  view.setUint16(at + 4, method, true);
  view.setUint16(at + 8, style.date, true);
  view.setUint32(at + 10, crc32, true);
  view.setUint32(at + 14, Math.min(compressedSize, placeholder32), true);
  view.setUint32(at + 18, Math.min(size, placeholder32), true);
  view.setUint16(at + 22, nameBytes.length, true);
}

function localHeader(member: PackedMember, offset: number, style: ArchiveStyle): Bytes {
  const { align } = style;
  const { nameBytes, method, size, compressedSize } = member;
  const zip64 = Math.max(size, compressedSize) >= placeholder32;
  const end = localLength + nameBytes.length + (zip64 ? fieldHead + 16 : 0);
  let room = method === 0 ? (align - ((offset + end) % align)) % align : 0;
  while (room > 0 && room < fieldHead) room += align;
  const header = allocate(end + room);
  const view = viewOf(header);
  view.setUint32(0, localSignature, true);
  writeShared(view, 4, member, zip64, style);
  view.setUint16(28, header.length - localLength - nameBytes.length, true);
  header.set(nameBytes, localLength);
  if (zip64) writeZip64(view, localLength + nameBytes.length, [size, compressedSize]);
  if (room > 0) {
    view.setUint16(end, alignmentField, true);
    view.setUint16(end + 2, room - fieldHead, true);
  }
  return header;
}

function centralHeader(member: PackedMember, offset: number, style: ArchiveStyle): Bytes {
  const { nameBytes, size, compressedSize } = member;
  const wide = [size, compressedSize, offset].filter((value) => value >= placeholder32);
  const start = 46 + nameBytes.length;
  const header = allocate(start + (wide.length === 0 ? 0 : fieldHead + 8 * wide.length));
  const view = viewOf(header);
  view.setUint32(0, centralSignature, true);
  view.setUint16(4, (wide.length === 0 ? 20 : 45) + (style.unix ? 3 << 8 : 0), true);
  writeShared(view, 6, member, wide.length > 0, style);
  view.setUint16(30, header.length - start, true);
  if (style.unix) view.setUint32(38, fileMode, true);
  view.setUint32(42, Math.min(offset, placeholder32), true);
  header.set(nameBytes, 46);
  if (wide.length > 0) writeZip64(view, start, wide);
  return header;
}

function writeZip64(view: DataView, at: number, values: readonly number[]): void {
  view.setUint16(at, 1, true);
  view.setUint16(at + 2, 8 * values.length, true);
  values.forEach((value, i) => {
    writeUint64(view, at + fieldHead + 8 * i, value);
  });
}

/** The end record of a directory at `offset`, after the zip64 records where a value does not fit. */
function endRecords(directory: readonly Uint8Array[], offset: number): Bytes {
  const count = directory.length;
  const length = directory.reduce((sum, entry) => sum + entry.length, 0);
  const zip64 = count >= placeholder16 || Math.max(length, offset) >= placeholder32;
  const at = zip64 ? 76 : 0;
  const records = allocate(at + 22);
  const view = viewOf(records);
  if (zip64) {
    view.setUint32(0, zip64EndSignature, true);
    writeUint64(view, 4, 44);
    view.setUint16(12, 45, true);
    view.setUint16(14, 45, true);
    writeUint64(view, 24, count);
    writeUint64(view, 32, count);
    writeUint64(view, 40, length);
    writeUint64(view, 48, offset);
    view.setUint32(56, zip64LocatorSignature, true);
    writeUint64(view, 64, offset + length);
    view.setUint32(72, 1, true);
  }
  view.setUint32(at, endSignature, true);
  view.setUint16(at + 8, Math.min(count, placeholder16), true);
  view.setUint16(at + 10, Math.min(count, placeholder16), true);
  view.setUint32(at + 12, Math.min(length, placeholder32), true);
  view.setUint32(at + 16, Math.min(offset, placeholder32), true);
  return records;
}
