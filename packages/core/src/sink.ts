import { abortable } from "./abort.js";
import { describe, TensorjarError } from "./error.js";
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
 * Throws `invalid-argument`, also for Node's `WriteStream` and `FileHandle`, which write short without a word.
 */
export function toSink(sink: SinkLike): Sink {
  const given: unknown = sink;
  if (typeof given === "object" && given !== null) {
    if ("fd" in given || "bytesWritten" in given || "pipe" in given) {
      throw new TensorjarError(
        "invalid-argument",
        "a Node stream or FileHandle may write short without an error",
        {
          hint: 'write to fileSink(path) from "@tensorjar/core/node", or to Writable.toWeb(stream)',
        },
      );
    }
    if (isStreamSink(given)) return streamSink(given);
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

function streamSink(stream: StreamSink): Sink {
  const writer = stream.getWriter();
  const end = (): void => writer.releaseLock();
  return {
    async write(chunk) {
      await writer.ready;
      await writer.write(chunk);
    },
    close: () => writer.close().then(end),
    abort: (reason) => writer.abort(reason).finally(end),
  };
}

/**
 * Pulls `chunks` into `sink`, one at a time, and closes it. On any failure and on `signal` the sink is aborted
 * with the reason, and the reason is what the promise rejects with.
 */
export async function writeChunks(
  target: SinkLike,
  { chunks, byteLength }: Chunks,
  { signal, onProgress, name = "" }: WriteOptions = {},
): Promise<void> {
  signal?.throwIfAborted();
  const sink = toSink(target);
  try {
    let loaded = 0;
    for await (const chunk of chunks) {
      signal?.throwIfAborted();
      await abortable(Promise.resolve(sink.write(chunk)), signal);
      loaded += chunk.length;
      onProgress?.({ loaded, total: byteLength, name });
    }
    signal?.throwIfAborted();
    await sink.close();
  } catch (reason) {
    try {
      await sink.abort?.(reason);
    } catch {
      // what went wrong first is what the caller needs to know
    }
    throw reason;
  }
}
