import { abortable } from "./abort.js";
import { describe, TensorjarError } from "./error.js";
import { allocate, type BytesLike, isBytesLike, toBytes } from "./tensor.js";

export interface SourceReadOptions {
  /** Where the bytes go: at its start, and it must be at least `length` long. */
  into?: Uint8Array;
  signal?: AbortSignal;
}

/** Random access to the bytes of a file, wherever it lies. */
export interface ByteSource {
  /** Length in bytes. */
  readonly size: number;
  /**
   * Exactly `length` bytes from `offset`, in `into` when given; without it the result may be a view of the source's
   * own memory, to be read and not to be changed. Rejects with `truncated`, `source-changed`, `io` or `http`; never short.
   */
  read(offset: number, length: number, options?: SourceReadOptions): Promise<Uint8Array>;
  close?(): Promise<void>;
}

/** What every `open` function reads from. A promise's source belongs to the callee, which closes it when opening fails. */
export type SourceLike = BytesLike | Blob | ByteSource | Promise<ByteSource>;

/** Throws `truncated` for a range that the source does not have, `invalid-argument` for one that no source has. */
export function checkRange(size: number, offset: number, length: number, into?: Uint8Array): void {
  const end = offset + length;
  const space = into === undefined ? length : into.length;
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
    throw new TensorjarError("invalid-argument", `bytes ${offset} to ${end} are no range`);
  }
  if (length > space) {
    throw new TensorjarError("invalid-argument", `${length} bytes do not fit in ${space}`);
  }
  if (end > size) {
    throw new TensorjarError(
      "truncated",
      `bytes ${offset} to ${end} were asked for, the file has ${size}`,
      { offset, expected: end, actual: size },
    );
  }
}

/** A source over bytes in memory; what it reads are views on them. */
export function bytesSource(bytes: BytesLike): ByteSource {
  const memory = toBytes(bytes);
  return {
    size: memory.length,
    async read(offset, length, { into, signal } = {}) {
      signal?.throwIfAborted();
      checkRange(memory.length, offset, length, into);
      const view = memory.subarray(offset, offset + length);
      if (into === undefined) return view;
      into.set(view);
      return into.subarray(0, length);
    },
  };
}

/** Whether `value` is a `Blob` or `File`, also of another realm. */
export function isBlob(value: unknown): value is Blob {
  return (
    typeof value === "object" &&
    value !== null &&
    "arrayBuffer" in value &&
    typeof value.arrayBuffer === "function" &&
    "slice" in value &&
    "size" in value
  );
}

/** Bytes read from a Blob at a time, so that a large read never holds its bytes twice. */
const blobPiece = 8 << 20;

/** A source over a `Blob` or `File`. A file that changed on disk is `source-changed`. */
export function blobSource(blob: Blob): ByteSource {
  const { size } = blob;
  return {
    size,
    async read(offset, length, { into, signal } = {}) {
      signal?.throwIfAborted();
      checkRange(size, offset, length, into);
      if (into === undefined && length <= blobPiece) return blobBytes(blob, offset, length, signal);
      const target = into ?? allocate(length);
      for (let done = 0; done < length; ) {
        const piece = await blobBytes(
          blob,
          offset + done,
          Math.min(blobPiece, length - done),
          signal,
        );
        target.set(piece, done);
        done += piece.length;
      }
      return target.subarray(0, length);
    },
  };
}

async function blobBytes(
  blob: Blob,
  offset: number,
  length: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  let bytes: Uint8Array | undefined;
  let cause: unknown;
  try {
    const reading = blob.slice(offset, offset + length).arrayBuffer();
    bytes = new Uint8Array(await abortable(reading, signal));
  } catch (failure) {
    signal?.throwIfAborted();
    cause = failure;
  }
  if (bytes?.length === length) return bytes;
  // Browsers say NotReadableError when the file on disk is not the one that was chosen, or lost its permission.
  const name = cause instanceof Error ? cause.name : "";
  throw new TensorjarError(
    bytes !== undefined || name === "NotReadableError"
      ? "source-changed"
      : name === "NotFoundError"
        ? "not-found"
        : "io",
    `bytes ${offset} to ${offset + length} of a Blob could not be read (${name || bytes?.length})`,
    { offset, hint: "choose the file again" },
    { cause },
  );
}

/** Whether `value` has the form of a {@link ByteSource}. */
export function isByteSource(value: unknown): value is ByteSource {
  return (
    typeof value === "object" &&
    value !== null &&
    "read" in value &&
    typeof value.read === "function" &&
    "size" in value &&
    Number.isSafeInteger(value.size)
  );
}

/** Anyone's source, held to the contract: exactly the bytes asked for, in `into`, and an abort that rejects at once. */
function strictSource(source: ByteSource): ByteSource {
  return {
    size: source.size,
    async read(offset, length, options = {}) {
      const { into, signal } = options;
      signal?.throwIfAborted();
      checkRange(source.size, offset, length, into);
      const bytes = toBytes(await abortable(source.read(offset, length, options), signal));
      if (bytes.length !== length) {
        throw new TensorjarError(
          bytes.length < length ? "truncated" : "invalid-argument",
          `the source gave ${bytes.length} bytes for ${length} at ${offset}`,
          { offset, expected: length, actual: bytes.length },
        );
      }
      if (into === undefined) return bytes;
      if (bytes.buffer !== into.buffer || bytes.byteOffset !== into.byteOffset) into.set(bytes);
      return into.subarray(0, length);
    },
    async close() {
      await source.close?.();
    },
  };
}

/** The source that `source` stands for. Rejects with `invalid-argument` for what is none. */
export async function toSource(source: SourceLike): Promise<ByteSource> {
  const given: unknown = await source;
  if (isBlob(given)) return blobSource(given);
  if (isByteSource(given)) return strictSource(given);
  if (isBytesLike(given)) return bytesSource(given);
  throw new TensorjarError(
    "invalid-argument",
    `expected bytes, a Blob or a byte source, got ${describe(given)}`,
    { hint: "read a path with fileSource(path), a URL with httpSource(url)" },
  );
}
