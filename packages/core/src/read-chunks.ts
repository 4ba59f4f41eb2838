import { abortable } from "./abort.js";
import { TensorjarError } from "./error.js";
import { type ByteSource, toSource } from "./source.js";
import type { Progress } from "./tensor-file.js";

export interface ReadChunksOptions {
  /** First byte (default 0). */
  start?: number;
  /** Byte after the last (default the size). */
  end?: number;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

/** Bytes of a chunk; one more is read ahead. */
const chunkLength = 8 << 20;

/**
 * The bytes of a source in order, in chunks of at most 8 MiB, the next one read while one is consumed.
 * A chunk may be a view of the source's memory. Rejects with `invalid-argument` and `truncated` for a range that
 * is none or not there, with `signal.reason`, and with what the source rejects with. The source stays open.
 */
export async function* readChunks(
  given: ByteSource,
  options: ReadChunksOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const source = await toSource(given); // one that gives less than was asked for would never end
  const { start = 0, end = source.size, signal, onProgress } = options;
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start) {
    throw new TensorjarError(
      "invalid-argument",
      `a range to read starts at ${start} and ends at ${end}`,
    );
  }
  const read = (at: number): Promise<Uint8Array> | undefined => {
    signal?.throwIfAborted();
    if (at >= end) return undefined;
    const reading = source.read(at, Math.min(chunkLength, end - at), signal && { signal });
    reading.catch(() => {}); // reported when its turn comes, unless the consumer stopped before
    return reading;
  };
  let loaded = 0;
  let next = read(start);
  while (next !== undefined) {
    const chunk = await abortable(next, signal);
    loaded += chunk.length;
    next = read(start + loaded);
    onProgress?.({ loaded, total: end - start, name: "" });
    yield chunk;
  }
}
