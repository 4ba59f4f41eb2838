import { type ByteSource, bytesSource } from "@tensorjar/core";
import { abortable, allocate, crc32, memoryFor } from "@tensorjar/core/codec";
import {
  checkDataSize,
  headerEnd,
  type NpyLayout,
  type NpyReadOptions,
  readLayout,
} from "@tensorjar/npy/codec";
import { inflate, inflateChunks } from "#inflate";
import { checkContent, contentPrefix, contentSync, type Inflate, notInflating } from "./content.js";
import { type Entry, encryptedFlags, localLength } from "./directory.js";
import { inMember } from "./faults.js";
import { contentStart } from "./local-header.js";

/** Bytes after a local header's name that are read with it: extra fields and the start of the content. */
const headRoom = 512;

/** Content above this goes through memory in pieces, for engines count in 31 or 32 bits. */
const maxAtOnce = 1 << 30;

const pieceLength = 1 << 20;

/** Members of at most this size are read together with their neighbours. */
const smallMember = 64 << 10;

/** Bytes of members that are read together. */
const maxRun = 1 << 20;

/** Whether a member is worth no read, and no thread, of its own. */
export function isSmall(entry: Entry): boolean {
  return entry.limit - entry.offset <= smallMember && entry.size <= 4 * smallMember;
}

/** Members that are read at once: one, or small ones that lie side by side. */
export type Run = [Entry, ...Entry[]];

/** Divides members into what is read at once. */
export function runs(entries: readonly Entry[]): readonly Run[] {
  const made: Run[] = [];
  for (const entry of entries) {
    const run = made.at(-1);
    const { offset, limit } = entry;
    if (
      run?.at(-1)?.limit === offset &&
      limit - run[0].offset <= maxRun &&
      isSmall(run[0]) &&
      isSmall(entry)
    )
      run.push(entry);
    else made.push([entry]);
  }
  return made;
}

/**
 * Reads a range of the archive; with `before`, into memory of its own that has as many bytes before it. It rejects
 * with the reason of a signal that it was made for.
 */
export type Read = (offset: number, length: number, before?: number) => Promise<Uint8Array>;

/** Reads from a source. */
export function reading(source: ByteSource, signal?: AbortSignal): Read {
  return (offset, length, before) => {
    const own = before !== undefined && {
      into: memoryFor(source, before + length)
        .fill(0, 0, before)
        .subarray(before),
    };
    return source.read(offset, length, { ...own, ...(signal && { signal }) });
  };
}

/** Reads what lies from `start` on from `bytes`, which hold it, and the rest by `read`. */
export function kept(start: number, bytes: Uint8Array, read: Read): Read {
  const near = reading(bytesSource(bytes)); // which tells when they are transferred
  return (offset, length, before) =>
    offset < start ? read(offset, length, before) : near(offset - start, length, before);
}

/**
 * The start of a member's compressed bytes, at least `wanted` of them or all, and where in the file they start; with
 * `own` in memory of their own, aligned where nothing lies between this member and the next.
 */
async function begin(
  read: Read,
  entry: Entry,
  wanted: number,
  own = false,
): Promise<{ at: number; raw: Uint8Array }> {
  const { offset, limit, compressedSize, nameBytes } = entry;
  const room = headRoom + Math.ceil(wanted / 64); // for extra fields
  const length = Math.min(limit - offset, localLength + nameBytes.length + room + wanted);
  const before = (compressedSize - length) & 63;
  const head = await read(offset, length, own ? before : undefined);
  const start = contentStart(entry, head);
  const enough = Math.min(wanted, compressedSize);
  const raw = head.subarray(start, start + compressedSize);
  const at = offset + start;
  if (raw.length >= enough) return { at, raw };
  return { at, raw: await read(at, enough, own ? 0 : undefined) };
}

interface Inflaters {
  readonly inflateSync?: Inflate;
  readonly inflatePrefix?: Inflate;
}

let loaded: Inflaters | undefined;

/** What inflates a member at once: loaded with the first deflated one, for not every archive has any. */
async function inflatersFor({ method }: Entry): Promise<Inflaters> {
  if (method === "stored") return {};
  loaded ??= await import("#inflate-sync");
  return loaded;
}

/** The first `length` bytes of a member's content, or all; they are not compared with the CRC-32. */
export async function prefix(read: Read, entry: Entry, length: number): Promise<Uint8Array> {
  const enough = Math.min(length, entry.size);
  const { inflatePrefix } = await inflatersFor(entry);
  for (let wanted = enough; ; wanted = 1024 + 4 * wanted) {
    const { raw } = await begin(read, entry, wanted);
    const content = contentPrefix(entry, raw, enough, inflatePrefix);
    if (content.length >= enough || raw.length === entry.compressedSize) return content;
  }
}

/** The header of an array and what follows from it; it is not compared with the CRC-32. */
export async function layoutOf(
  read: Read,
  entry: Entry,
  options: NpyReadOptions,
): Promise<NpyLayout> {
  const { size } = entry;
  let start = await prefix(read, entry, headRoom);
  const { dataOffset } = inMember(entry, () => headerEnd(start, size, options));
  if (dataOffset > start.length) start = await prefix(read, entry, dataOffset);
  return inMember(entry, () => {
    const layout = readLayout(start, options, size);
    checkDataSize(layout, size);
    return layout;
  });
}

/** A member's content in memory of its own. */
export async function contentOf(
  read: Read,
  entry: Entry,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const { size, compressedSize, method, flags } = entry;
  const isStored = method === "stored";
  const atOnce = isStored || Math.max(size, compressedSize) <= maxAtOnce;
  // Of a member that is refused, whatever its content, no more than the local header is read.
  const refused = typeof method === "number" || (flags & encryptedFlags) !== 0;
  const { raw } = await begin(read, entry, atOnce && !refused ? compressedSize : 0, isStored);
  if (isStored || isSmall(entry)) {
    const { inflateSync } = await inflatersFor(entry);
    return contentSync(entry, raw, inflateSync);
  }
  if (atOnce) {
    const content = await abortable(inflate(raw, size), signal).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw notInflating(entry, cause);
    });
    checkContent(entry, content.length, crc32(content));
    return content;
  }
  const content = allocate(size);
  let length = 0;
  for await (const piece of piecesOf(read, entry)) {
    content.set(piece, length);
    length += piece.length;
  }
  return content;
}

/** A member's content in pieces; after the last one it is compared with the CRC-32. */
export async function* piecesOf(read: Read, entry: Entry): AsyncGenerator<Uint8Array> {
  const { at } = await begin(read, entry, 0);
  const { compressedSize, size } = entry;
  let unread: unknown;
  async function* rawPieces(): AsyncGenerator<Uint8Array> {
    try {
      for (let done = 0; done < compressedSize; done += pieceLength)
        yield await read(at + done, Math.min(pieceLength, compressedSize - done));
    } catch (reason) {
      unread = reason;
      throw reason;
    }
  }
  let length = 0;
  let crc = 0;
  try {
    for await (const piece of entry.method === "stored"
      ? rawPieces()
      : inflateChunks(rawPieces())) {
      length += piece.length;
      if (length > size) break;
      crc = crc32(piece, crc);
      yield piece;
    }
  } catch (cause) {
    throw unread ?? notInflating(entry, cause);
  }
  checkContent(entry, length, crc);
}
