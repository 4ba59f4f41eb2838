import { type Bytes, type Named, type SinkLike, TensorjarError } from "@tensorjar/core";
import {
  crc32InTurns,
  describe,
  inOrder,
  namedEntries,
  Turns,
  toBytes,
  writeChunks,
} from "@tensorjar/core/codec";
import type { NpyArray } from "@tensorjar/npy";
import { deflate } from "#deflate";
import { archiveWriter, join, type PackedMember } from "./archive.js";
import {
  type NpzWriteOptions,
  nameCheck,
  packed,
  type Unpacked,
  unpacked,
  type WriteSettings,
  writeSettings,
} from "./encode.js";
import { unshared } from "./unshared.js";

/** Arrays by name, at hand or as they come. */
export type NpzArrays = Named<NpyArray> | AsyncIterable<readonly [string, NpyArray]>;

/** Pieces below this are joined, so that many small arrays do not make many small writes. */
const smallPiece = 256 << 10;
const chunkLength = 1 << 20;

/**
 * The bytes of an archive in chunks of at most 64 MiB, pulled; the same bytes as `encodeNpz` but for what deflate makes.
 * Arrays that come from an async iterable are held one at a time, and may come in the same memory. Large chunks are
 * views of the arrays' memory, which must not change before they are used. Names, options and arrays at hand are
 * checked before this returns; it throws, and iterating rejects, as `encodeNpz` throws; memory that was transferred
 * meanwhile is `invalid-argument`.
 */
export function npzChunks(
  arrays: NpzArrays,
  options: NpzWriteOptions = {},
): AsyncGenerator<Bytes, void, undefined> {
  const settings = writeSettings(options);
  const members = isAsync(arrays)
    ? packComing(arrays, settings)
    : packAll(
        namedEntries(arrays, "arrays").map(([name, array]) => unpacked(name, array, settings)),
        settings,
      );
  return chunksOf(members, settings);
}

/**
 * Writes an archive into `sink` and closes it. Rejects as `npzChunks` throws; what that refuses at once leaves the sink
 * untouched, after any later failure it is aborted.
 */
export async function writeNpz(
  sink: SinkLike,
  arrays: NpzArrays,
  options: NpzWriteOptions = {},
): Promise<void> {
  await writeChunks(sink, { byteLength: 0, chunks: npzChunks(arrays, options) });
}

function isAsync(arrays: NpzArrays): arrays is AsyncIterable<readonly [string, NpyArray]> {
  return typeof arrays === "object" && arrays !== null && Symbol.asyncIterator in arrays;
}

/** Sums and deflates a member in steps that let other work on the thread through. */
async function pack(
  content: Unpacked,
  { deflate: deflates, level }: WriteSettings,
  turns: Turns,
): Promise<PackedMember> {
  let crc32 = 0;
  for (const piece of content.pieces) crc32 = await crc32InTurns(piece, turns, crc32);
  const parts = deflates ? await deflate(content.pieces, level) : undefined;
  content.pieces.forEach(toBytes); // throws for memory that was transferred meanwhile
  return packed(content, crc32, parts);
}

/** Members whose arrays are all at hand; several are deflated at once, and the next is summed while one is written. */
function packAll(
  contents: readonly Unpacked[],
  settings: WriteSettings,
): AsyncGenerator<PackedMember> {
  const turns = new Turns(); // of all: before a large member is summed, writing the one before it gets a turn to start
  const tasks = contents.map((content) => ({
    bytes: content.size,
    run: () => pack(content, settings, turns),
  }));
  return inOrder(tasks, settings.deflate ? 4 : 2);
}

async function* packComing(
  arrays: AsyncIterable<readonly [string, NpyArray]>,
  settings: WriteSettings,
): AsyncGenerator<PackedMember> {
  const check: (name: unknown) => asserts name is string = nameCheck();
  const turns = new Turns();
  for await (const pair of arrays) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new TensorjarError(
        "invalid-argument",
        `expected pairs [name, array], got ${describe(pair)}`,
      );
    }
    const [name, array] = pair;
    check(name);
    const member = await pack(unpacked(name, array, settings), settings, turns);
    // Small pieces wait until there is a chunk of them; by then the same memory may hold the next array.
    yield {
      ...member,
      pieces: member.pieces.map((piece) => (piece.length < smallPiece ? piece.slice() : piece)),
    };
  }
}

async function* chunksOf(
  members: AsyncIterable<PackedMember>,
  { style }: WriteSettings,
): AsyncGenerator<Bytes, void, undefined> {
  const writer = archiveWriter(style);
  let pending: Uint8Array[] = [];
  let length = 0;
  const flush = function* (): Generator<Bytes> {
    if (length > 0) yield join(pending.map(toBytes)); // which throws for memory that was transferred meanwhile
    pending = [];
    length = 0;
  };
  const put = function* (pieces: readonly Uint8Array[]): Generator<Bytes> {
    for (const piece of pieces) {
      if (piece.length < smallPiece) {
        pending.push(piece);
        length += piece.length;
        if (length >= chunkLength) yield* flush();
      } else {
        yield* flush();
        yield unshared(toBytes(piece)); // throws as well
      }
    }
  };
  for await (const member of members) yield* put([writer.add(member), ...member.pieces]);
  yield* put(writer.end());
  yield* flush();
}
