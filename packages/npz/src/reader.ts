import type { ByteSource } from "@tensorjar/core";
import { abortable, allocate, crc32, toBytes } from "@tensorjar/core/codec";
import type { NpyArray } from "@tensorjar/npy";
import {
  checkDataSize,
  decodeData,
  headerEnd,
  type NpyLayout,
  type NpyReadOptions,
  readLayout,
} from "@tensorjar/npy/codec";
import { inflate, inflateChunks } from "#deflate";
import { arrayOf, checkContent, contentPrefix, inMember, notInflating } from "./content.js";
import { headLength } from "./decode.js";
import { type Entry, localLength, namesNoArray, parseDirectory } from "./directory.js";
import { anotherFormat, endWindow, farWindow, findDirectory, noArchive } from "./end-record.js";
import { checkReadable, contentStart } from "./local-header.js";

/** Bytes at the end of a file that are read first: the whole directory of most archives. */
const tailLength = 64 << 10;

/** Bytes after a local header's name that are read with it: extra fields and the start of the content. */
const headRoom = 512;

/** Extra fields and a data descriptor: the most that can stand between a member's bytes and its neighbours'. */
const maxRoom = 0xffff + 24;

/** Content above this goes through memory in pieces, for engines count in 31 or 32 bits. */
const maxAtOnce = 1 << 30;

const pieceLength = 1 << 20;

/** Members of at most this size are read together with their neighbours. */
const smallMember = 64 << 10;

/** Bytes of members that are read together. */
const maxRun = 1 << 20;

/** Members that are read at once: one, or small ones that lie side by side from `offset` to `end`. */
export interface Run {
  readonly entries: Entry[];
  readonly offset: number;
  end: number;
}

/** Whether a member is worth no read, and no thread, of its own. */
export function isSmall(entry: Entry): boolean {
  return entry.limit - entry.offset <= smallMember && entry.size <= 4 * smallMember;
}

/** Divides members into what is read at once. */
export function runs(entries: readonly Entry[]): Run[] {
  const made: Run[] = [];
  for (const entry of entries) {
    const last = made.at(-1);
    const { offset, limit: end } = entry;
    if (last?.end === offset && isSmall(entry) && end - last.offset <= maxRun) {
      last.entries.push(entry);
      last.end = end;
    } else made.push({ entries: [entry], offset, end: isSmall(entry) ? end : -1 });
  }
  return made;
}

/** The bytes of an archive's members, over any source. */
export interface MemberReader {
  readonly entries: readonly Entry[];
  /** The header of an array and what follows from it; it is not compared with the CRC-32. */
  layout(entry: Entry, signal?: AbortSignal): Promise<NpyLayout>;
  /** The first `length` bytes of a member's content, or all; they are not compared with the CRC-32. */
  prefix(entry: Entry, length: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** A member's content in memory of its own. */
  content(entry: Entry, signal?: AbortSignal): Promise<Uint8Array>;
  /** A member's array in memory of its own. */
  array(entry: Entry, signal?: AbortSignal): Promise<NpyArray>;
  /** A member's content in pieces; after the last one it is compared with the CRC-32. */
  pieces(entry: Entry, signal?: AbortSignal): AsyncGenerator<Uint8Array>;
  /** The compressed bytes of the members of a run, which are all small. */
  run(run: Run, signal?: AbortSignal): Promise<(entry: Entry) => Uint8Array>;
}

/** Reads the directory of the archive in `source`. Rejects as `decodeNpz` throws, but for what only a member shows. */
export async function memberReader(
  source: ByteSource,
  options: NpyReadOptions,
): Promise<MemberReader> {
  const { size } = source;
  let tailStart = Math.max(0, size - tailLength);
  let tail = toBytes(await source.read(tailStart, size - tailStart));
  let found = findDirectory(tail, size);
  if (!("place" in found) && tailStart > 0) {
    tailStart = Math.max(0, size - endWindow);
    tail = toBytes(await source.read(tailStart, size - tailStart));
    found = findDirectory(tail, size);
  }

  async function read(
    offset: number,
    length: number,
    signal?: AbortSignal,
    into?: Uint8Array,
  ): Promise<Uint8Array> {
    if (offset < tailStart) {
      return toBytes(
        await source.read(offset, length, { ...(into && { into }), ...(signal && { signal }) }),
      );
    }
    const view = tail.subarray(offset - tailStart, offset - tailStart + length);
    into?.set(view);
    return into ?? view;
  }

  const head = (): Promise<Uint8Array> => read(0, Math.min(size, headLength));
  if (!("place" in found)) {
    const far = Math.max(0, size - farWindow);
    throw noArchive(await head(), await read(far, size - far), size, found.fault);
  }
  const { place } = found;
  const entries = parseDirectory(await read(place.start, place.length), place);
  const other = namesNoArray(entries) ? anotherFormat(await head()) : undefined;
  if (other !== undefined) throw other;

  /** The start of a member's compressed bytes, at least `wanted` of them or all, and where in the file they start. */
  async function begin(
    entry: Entry,
    wanted: number,
    signal?: AbortSignal,
  ): Promise<{ at: number; raw: Uint8Array }> {
    checkReadable(entry);
    const { offset, limit, compressedSize } = entry;
    const name = localLength + entry.nameBytes.length;
    const head = await read(offset, Math.min(limit - offset, name + headRoom + wanted), signal);
    const start = contentStart(entry, head);
    const raw = head.subarray(start, start + compressedSize);
    if (raw.length >= Math.min(wanted, compressedSize)) return { at: offset + start, raw };
    return {
      at: offset + start,
      raw: await read(offset + start, Math.min(wanted, compressedSize), signal),
    };
  }

  /** All compressed bytes of a member, in one read. */
  async function compressed(entry: Entry, signal?: AbortSignal): Promise<Uint8Array> {
    checkReadable(entry);
    const { offset, limit, compressedSize } = entry;
    const most = localLength + entry.nameBytes.length + maxRoom + compressedSize;
    const region = await read(offset, Math.min(limit - offset, most), signal);
    const start = contentStart(entry, region);
    return region.subarray(start, start + compressedSize);
  }

  async function prefix(entry: Entry, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const enough = Math.min(length, entry.size);
    for (let wanted = entry.method === "stored" ? enough : 1024 + enough; ; wanted *= 4) {
      const { raw } = await begin(entry, wanted, signal);
      const content = contentPrefix(entry, raw, enough);
      if (content.length >= enough || raw.length === entry.compressedSize) return content;
    }
  }

  async function layout(entry: Entry, signal?: AbortSignal): Promise<NpyLayout> {
    let start = await prefix(entry, headRoom, signal);
    const { dataOffset } = inMember(entry.name, () => headerEnd(start, entry.size, options));
    if (dataOffset > start.length) start = await prefix(entry, dataOffset, signal);
    return inMember(entry.name, () => {
      const known = readLayout(start, options, entry.size);
      checkDataSize(known, entry.size);
      return known;
    });
  }

  async function content(entry: Entry, signal?: AbortSignal): Promise<Uint8Array> {
    const { size, compressedSize } = entry;
    if (entry.method === "stored") {
      const { at, raw } = await begin(entry, 0, signal);
      const own = allocate(size);
      if (raw.length === size) own.set(raw);
      else await read(at, size, signal, own);
      checkContent(entry, size, crc32(own));
      return own;
    }
    if (Math.max(size, compressedSize) > maxAtOnce) return gathered(entry, signal);
    const raw = await compressed(entry, signal);
    let inflated: Uint8Array;
    try {
      inflated = await abortable(inflate(raw, size, signal), signal);
    } catch (cause) {
      signal?.throwIfAborted();
      throw notInflating(entry, cause);
    }
    checkContent(entry, inflated.length, crc32(inflated));
    return inflated;
  }

  async function gathered(entry: Entry, signal?: AbortSignal): Promise<Uint8Array> {
    checkReadable(entry);
    const own = allocate(entry.size);
    let length = 0;
    for await (const piece of pieces(entry, signal)) {
      own.set(piece, length);
      length += piece.length;
    }
    return own;
  }

  async function array(entry: Entry, signal?: AbortSignal): Promise<NpyArray> {
    if (entry.method === "stored") {
      const direct = await storedArray(entry, signal);
      if (direct !== undefined) return direct;
    }
    return arrayOf(entry, await content(entry, signal), options, true);
  }

  /** The array of a stored member, its data read straight into aligned memory; `undefined` where its header is at fault. */
  async function storedArray(entry: Entry, signal?: AbortSignal): Promise<NpyArray | undefined> {
    const { at, raw } = await begin(entry, headRoom, signal);
    let known: NpyLayout;
    try {
      known = readLayout(raw, options, entry.size);
      checkDataSize(known, entry.size);
    } catch {
      return undefined; // the whole member must be read to tell a damaged header from a wrong one
    }
    const { dataOffset } = known.header;
    if (dataOffset > raw.length) return undefined;
    const data = allocate(known.byteLength);
    await read(at + dataOffset, data.length, signal, data);
    checkContent(entry, entry.size, crc32(data, crc32(raw.subarray(0, dataOffset))));
    return inMember(entry.name, () => decodeData(known, data, options, true));
  }

  async function* pieces(entry: Entry, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const { at } = await begin(entry, 0, signal);
    let failure: { readonly reason: unknown } | undefined;
    async function* rawPieces(): AsyncGenerator<Uint8Array> {
      try {
        for (let done = 0; done < entry.compressedSize; done += pieceLength) {
          yield await read(at + done, Math.min(pieceLength, entry.compressedSize - done), signal);
        }
      } catch (reason) {
        failure = { reason };
        throw reason;
      }
    }
    let length = 0;
    let crc = 0;
    const content = entry.method === "stored" ? rawPieces() : inflateChunks(rawPieces());
    try {
      for await (const piece of content) {
        signal?.throwIfAborted();
        length += piece.length;
        if (length > entry.size) break;
        crc = crc32(piece, crc);
        yield piece;
      }
    } catch (cause) {
      signal?.throwIfAborted();
      throw failure === undefined ? notInflating(entry, cause) : failure.reason;
    }
    checkContent(entry, length, crc);
  }

  async function run(
    { offset, end }: Run,
    signal?: AbortSignal,
  ): Promise<(entry: Entry) => Uint8Array> {
    const bytes = await read(offset, end - offset, signal);
    return (entry) => {
      checkReadable(entry);
      const region = bytes.subarray(entry.offset - offset, entry.limit - offset);
      const start = contentStart(entry, region);
      return region.subarray(start, start + entry.compressedSize);
    };
  }

  return { entries, layout, prefix, content, array, pieces, run };
}
