import { abortable } from "./abort.js";
import { describe, TensorjarError } from "./error.js";
import { toBytes } from "./tensor.js";
import type { Chunks, Progress } from "./tensor-file.js";

/** The part of a `WritableStream` that is used. */
export interface StreamSink {
  getWriter(): {
    readonly ready: Promise<unknown>;
    write(chunk: Uint8Array): Promise<unknown>;
    close(): Promise<unknown>;
    abort(reason?: unknown): Promise<unknown>;
    releaseLock(): void;
  };
}

/**
 * Where bytes go. Each `write` takes a chunk whole and is awaited before the next; `close` commits, `abort` undoes.
 * `rewrite`, where a sink has it, replaces bytes written earlier.
 */
export interface Sink {
  write(chunk: Uint8Array): unknown;
  close(): unknown;
  abort?(reason?: unknown): unknown;
  rewrite?(offset: number, chunk: Uint8Array): unknown;
  /** Set by a sink that is done with the memory of a chunk once its `write` has resolved: it may be written to again. */
  transient?: true | undefined;
  fd?: never;
  bytesWritten?: never;
}

export type SinkLike = StreamSink | Sink;

export interface WriteOptions {
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** What `onProgress` calls the file. */
  name?: string;
}

/**
 * The sink that `sink` stands for: a `WritableStream` is locked by its writer until closed or aborted.
 * Throws `invalid-argument`, also for Node's `WriteStream` and `FileHandle`, Deno's files and connections and a
 * `FileSystemSyncAccessHandle`, which write short without a word, and over a longer file.
 */
export function toSink(sink: SinkLike): Sink {
  const given: unknown = sink;
  if (typeof given === "object" && given !== null) {
    if (isStreamSink(given)) return streamSink(given);
    // Node's streams are `writable`, Deno's files and connections have one; the other handles of files can `truncate`.
    if ("writable" in given || "truncate" in given || "fd" in given) {
      throw new TensorjarError(
        "invalid-argument",
        "a Node stream or a file handle may write short without an error",
        {
          hint: 'write to fileSink(path) from "@tensorjar/core/node", or to Writable.toWeb(stream)',
        },
      );
    }
    if (isSink(given)) return given;
  }
  throw new TensorjarError(
    "invalid-argument",
    `expected a sink with write and close, or a WritableStream, got ${describe(given)}`,
  );
}

function isStreamSink(sink: object): sink is StreamSink {
  return "getWriter" in sink && typeof sink.getWriter === "function";
}

function isSink(sink: object): sink is Sink {
  return (
    "write" in sink &&
    typeof sink.write === "function" &&
    "close" in sink &&
    typeof sink.close === "function"
  );
}

/** Whether memory is not shared and keeps its size: most of the platform's own streams take no other. */
function isPlain({ buffer }: Uint8Array): boolean {
  return Object(buffer).resizable === false; // shared memory has no such property, nor has any in an old engine
}

function streamSink(stream: StreamSink): Sink {
  let writer: ReturnType<StreamSink["getWriter"]>;
  try {
    writer = stream.getWriter();
  } catch (cause) {
    throw new TensorjarError(
      "invalid-argument",
      "the stream to write to is locked",
      { hint: "release the writer it has, or give that writer" },
      { cause },
    );
  }
  const end = (): void => writer.releaseLock();
  return {
    async write(chunk) {
      await writer.ready;
      await writer.write(isPlain(chunk) ? chunk : chunk.slice());
    },
    close: () => writer.close().then(end),
    abort: (reason) => writer.abort(reason).finally(end),
  };
}

/** No sink is given a longer chunk. */
const maxChunk = 64 << 20;

/**
 * Pulls `chunks` into `sink`, one at a time, and closes it. When anything fails, the sink is aborted once with the
 * reason, and then the promise rejects with it. When `signal` is aborted, the sink is aborted with its reason and the
 * promise rejects at once, also while a chunk is being made or written; nothing new is pulled or written.
 */
export async function writeChunks(
  target: SinkLike,
  { chunks, byteLength, transient = chunks }: Chunks,
  { signal, onProgress, name = "" }: WriteOptions = {},
): Promise<void> {
  const sink = toSink(target);
  const iterator = (sink.transient ? transient : chunks)[Symbol.asyncIterator]();
  const step = async <T>(start: () => T | PromiseLike<T>): Promise<T> => {
    signal?.throwIfAborted();
    return abortable(Promise.resolve(start()), signal);
  };
  try {
    let loaded = 0;
    for (;;) {
      const { done, value } = await step(() => iterator.next());
      if (done) break;
      const { length } = toBytes(value);
      for (let at = 0; at < length; at += maxChunk) {
        const piece = toBytes(value).subarray(at, at + maxChunk); // throws where the last one was transferred
        loaded += piece.length;
        await step(() => sink.write(piece));
        onProgress?.({ loaded, total: byteLength, name });
      }
    }
    await step(() => sink.close());
  } catch (reason) {
    // What went wrong first is what the caller needs to know, not what then fails in undoing it.
    const undone = Promise.allSettled([
      (async () => sink.abort?.(reason))(),
      (async () => iterator.return?.())(),
    ]);
    if (!signal?.aborted) await undone;
    throw reason;
  }
}
