import { type Bytes, type Named, TensorjarError } from "@tensorjar/core";
import { checkName, crc32, namedEntries, quote } from "@tensorjar/core/codec";
import type { NpyArray } from "@tensorjar/npy";
import { checkOption, npyPieces } from "@tensorjar/npy/codec";
import { type DeflateLevel, deflateSync } from "#deflate";
import {
  type ArchiveStyle,
  archiveWriter,
  join,
  type PackedMember,
  totalLength,
} from "./archive.js";
import { inMember } from "./faults.js";

export interface NpzWriteOptions {
  /** `stored` (default), or `deflate` as `np.savez_compressed`. */
  compression?: "stored" | "deflate";
  /** Effort of deflate, from 0 to 9 (default 6). */
  level?: number;
  /** The data of stored arrays starts at a multiple of this many bytes: a power of two up to 32,768 (default 64). */
  align?: number;
  /** `numpy` (default), or `gsplat`: the headers that the gsplat gem writes, byte for byte, without alignment. */
  profile?: "numpy" | "gsplat";
}

/** The options with their defaults. */
export interface WriteSettings {
  readonly deflate: boolean;
  readonly level: DeflateLevel;
  readonly growthPadding: boolean;
  readonly style: ArchiveStyle;
}

/** 1980-01-01, the first day that zip has. */
const firstDay = 0x21;

/** Throws `invalid-argument` for a value that no option has. */
export function writeSettings({
  compression = "stored",
  level = 6,
  align = 64,
  profile = "numpy",
}: NpzWriteOptions): WriteSettings {
  const deflate = compression === "deflate";
  checkOption("compression", compression, deflate || compression === "stored");
  checkOption("level", level, isLevel(level));
  const isAlignment =
    Number.isInteger(align) && Number.isInteger(Math.log2(align)) && align >= 1 && align <= 32768;
  checkOption("align", align, isAlignment);
  checkOption("profile", profile, profile === "gsplat" || profile === "numpy");
  const gem = profile === "gsplat";
  return {
    deflate,
    level: isLevel(level) ? level : 6,
    growthPadding: !gem,
    style: gem
      ? { align: 1, unix: false, date: 0, utf8: true }
      : { align, unix: true, date: firstDay, utf8: false },
  };
}

function isLevel(level: number): level is DeflateLevel {
  return Number.isInteger(level) && level >= 0 && level <= 9;
}

/** An array as the content of a member, not yet compressed. */
export interface Unpacked {
  readonly nameBytes: Uint8Array;
  readonly size: number;
  readonly pieces: readonly Uint8Array[];
}

/** Checks a name and an array. Throws `invalid-name` and what `encodeNpy` throws. */
export function unpacked(
  name: string,
  array: NpyArray,
  { growthPadding }: WriteSettings,
): Unpacked {
  const nameBytes = memberName(name);
  const { pieces, byteLength } = inMember({ name }, () => npyPieces(array, { growthPadding }));
  return { nameBytes, size: byteLength, pieces };
}

const utf8 = new TextEncoder();

function memberName(name: string): Uint8Array {
  const bytes = utf8.encode(`${name}.npy`);
  const faults: readonly (readonly [boolean, string])[] = [
    [name === "", "is empty"],
    [name.includes("\0"), "holds a NUL"],
    [name.includes("\\"), "holds a \\"],
    [name.startsWith("/"), "starts with /"],
    [name.split("/").includes(".."), "has the segment .."],
    [bytes.length > 0xffff, "is over 65535 bytes"],
  ];
  const fault = faults.find(([applies]) => applies)?.[1];
  if (fault === undefined) return bytes;
  throw new TensorjarError("invalid-name", `the name ${quote(name)} ${fault}`, {
    name,
    hint: "unpacked, it is a path",
  });
}

/** A member of its content as it is, or deflated into `parts`. */
export function packed(
  { nameBytes, size, pieces }: Unpacked,
  crc32: number,
  parts?: Uint8Array[],
): PackedMember {
  return {
    nameBytes,
    method: parts ? 8 : 0,
    crc32,
    size,
    compressedSize: parts ? totalLength(parts) : size,
    pieces: parts ?? pieces,
  };
}

function crcOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((crc, piece) => crc32(piece, crc), 0);
}

/**
 * An archive of arrays, as `np.savez` and `np.savez_compressed` make it; each array's member is called by its name and
 * `.npy`. Stored data is aligned, so that `decodeNpz` gives views of it. The same arrays give the same bytes.
 * Throws `invalid-name` (empty, NUL, a leading `/`, `\`, a `..` segment, over 65,535 bytes, a lone surrogate),
 * `duplicate-name`, `invalid-argument`, and what `encodeNpy` throws.
 */
export function encodeNpz(arrays: Named<NpyArray>, options: NpzWriteOptions = {}): Bytes {
  const settings = writeSettings(options);
  const writer = archiveWriter(settings.style);
  const pieces: Uint8Array[] = [];
  for (const [name, array] of namedEntries(arrays, "arrays")) {
    const content = unpacked(name, array, settings);
    const { deflate, level } = settings;
    const member = packed(
      content,
      crcOf(content.pieces),
      deflate ? deflateSync(content.pieces, level) : undefined,
    );
    pieces.push(writer.add(member));
    for (const piece of member.pieces) pieces.push(piece);
  }
  return join(pieces.concat(writer.end()));
}

/** A look-out for names that come one by one. Throws `invalid-name`, `duplicate-name`. */
export function nameCheck(): (name: unknown) => asserts name is string {
  const seen = new Set<string>();
  return (name) => {
    checkName(name, "arrays");
    if (seen.has(name))
      throw new TensorjarError("duplicate-name", `the name ${quote(name)} is given twice`, {
        name,
      });
    seen.add(name);
  };
}
