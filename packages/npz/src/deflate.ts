import { allocate } from "@tensorjar/core/codec";
import { Deflate, Inflate } from "fflate";
import { unshared } from "./unshared.js";

// Raw deflate streams (RFC 1951). A stream that does not inflate throws whatever the inflater throws: the caller knows
// the member's name and makes the error. What inflates to more than `size` bytes is cut after `size + 1` of them.

/** Compressed bytes given to an inflater at once: at most 66 MiB come out before it can be stopped. */
const piece = 64 << 10;

/** What comes out of an inflater, as far as it fits in `length` bytes. */
interface Output {
  add(part: Uint8Array): void;
  isFull(): boolean;
  bytes(): Uint8Array;
}

function outputOf(length: number): Output {
  const out = allocate(length);
  let done = 0;
  return {
    add(part) {
      const fitting = part.subarray(0, length - done);
      out.set(fitting, done);
      done += fitting.length;
    },
    isFull: () => done === length,
    bytes: () => out.subarray(0, done),
  };
}

/** The content of a deflate stream whose content should be `size` bytes. */
export function inflateSync(data: Uint8Array, size: number): Uint8Array {
  return inflateStart(data, size + 1, piece, true);
}

/** The first `length` bytes of a stream's content, or all where it is shorter; `data` may be its beginning only. */
export function inflatePrefix(data: Uint8Array, length: number): Uint8Array {
  return inflateStart(data, length, 512, false);
}

function inflateStart(data: Uint8Array, length: number, step: number, whole: boolean): Uint8Array {
  const output = outputOf(length);
  const inflater = new Inflate(output.add);
  let at = 0;
  do {
    inflater.push(data.subarray(at, at + step), whole && at + step >= data.length);
    at += step;
  } while (at < data.length && !output.isFull());
  return output.bytes();
}

/**
 * The same without blocking, by the engine's own inflater where there is one. Measured in Chromium 156 on 64 MiB of
 * float32: 0.3 to 0.6 of the time of fflate, which its workers do not reach; pieces of 64 KiB are as fast as of 1 MiB.
 */
export async function inflate(data: Uint8Array, size: number): Promise<Uint8Array> {
  const inflater = native("DecompressionStream");
  if (inflater === undefined) return inflateSync(data, size);
  const output = outputOf(size + 1);
  try {
    for await (const part of through(inflater, [data])) {
      output.add(part);
      if (output.isFull()) break;
    }
  } catch {
    // Engines refuse bytes after the end of a stream, which fflate and zlib let be: fflate has the last word.
    return inflateSync(data, size);
  }
  return output.bytes();
}

/** The content of a stream that comes in pieces, as it comes. */
export async function* inflateChunks(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  const inflater = new Inflate((part) => parts.push(part));
  for await (const data of pieces) {
    for (let at = 0; at < data.length; at += piece) {
      inflater.push(data.subarray(at, at + piece));
      yield* parts.splice(0);
    }
  }
  inflater.push(new Uint8Array(0), true);
  yield* parts;
}

/** The deflate stream of what `pieces` hold together, at a level from 0 to 9. */
export function deflateSync(pieces: readonly Uint8Array[], level: DeflateLevel): Uint8Array[] {
  const parts: Uint8Array[] = [];
  const deflater = new Deflate({ level }, (part) => parts.push(part));
  for (const data of pieces) deflater.push(data);
  deflater.push(new Uint8Array(0), true);
  return parts;
}

/**
 * The same without blocking for long, by the engine's own deflater where it has the level. Measured in Chromium 156 on
 * 16 MiB of float32 at level 6: 0.5 to 1.5 of the time of fflate.
 */
export async function deflate(
  pieces: readonly Uint8Array[],
  level: DeflateLevel,
): Promise<Uint8Array[]> {
  const deflater = level === 6 ? native("CompressionStream") : undefined;
  if (deflater === undefined) return deflateSync(pieces, level);
  const parts: Uint8Array[] = [];
  for await (const part of through(deflater, pieces)) parts.push(part);
  return parts;
}

export type DeflateLevel = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

interface Transform {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<BufferSource>;
}

/** The engine's own stream for raw deflate, where it has one. */
function native(kind: "CompressionStream" | "DecompressionStream"): Transform | undefined {
  try {
    return new globalThis[kind]("deflate-raw");
  } catch {
    return undefined;
  }
}

/** Feeds a stream piece by piece and gives what comes out of it. */
async function* through(
  stream: Transform,
  pieces: readonly Uint8Array[],
): AsyncGenerator<Uint8Array> {
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  const feed = async (): Promise<void> => {
    for (const data of pieces) {
      for (let at = 0; at < data.length; at += piece) {
        await writer.write(unshared(data.subarray(at, at + piece)));
      }
    }
    await writer.close();
  };
  feed().catch(() => {}); // the reader fails with the same reason
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
