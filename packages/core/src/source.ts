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
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
    throw new TensorjarError(
      "invalid-argument",
      `a range to read starts at ${offset} and is ${length} bytes long`,
    );
  }
  if (into !== undefined && into.length < length) {
    throw new TensorjarError(
      "invalid-argument",
      `the destination has ${into.length} bytes, ${length} are read`,
    );
  }
  if (offset + length > size) {
    throw new TensorjarError(
      "truncated",
      `bytes ${offset} to ${offset + length} were asked for, the file has ${size}`,
      {
        offset,
        expected: offset + length,
        actual: size,
      },
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
  const reading = blob.slice(offset, offset + length).arrayBuffer();
  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(await abortable(reading, signal));
  } catch (cause) {
    signal?.throwIfAborted();
    const name = cause instanceof Error ? cause.name : "";
    const code =
      name === "NotReadableError"
        ? "source-changed"
        : name === "NotFoundError"
          ? "not-found"
          : "io";
    throw new TensorjarError(
      code,
      `bytes ${offset} to ${offset + length} of a Blob could not be read (${name})`,
      { offset },
      { cause },
    );
  }
  if (bytes.length !== length) {
    throw new TensorjarError(
      "source-changed",
      `a Blob gave ${bytes.length} of the ${length} bytes at ${offset}`,
      {
        offset,
        expected: length,
        actual: bytes.length,
      },
    );
  }
  return bytes;
}

/** Whether `value` has the form of a {@link ByteSource}. */
export function isByteSource(value: unknown): value is ByteSource {
  return (
    typeof value === "object" &&
    value !== null &&
    "read" in value &&
    typeof value.read === "function" &&
    "size" in value &&
    typeof value.size === "number"
  );
}

/** The source that `source` stands for. Rejects with `invalid-argument` for what is none. */
export async function toSource(source: SourceLike): Promise<ByteSource> {
  const given: unknown = await source;
  if (isBlob(given)) return blobSource(given);
  if (isByteSource(given)) return given;
  if (isBytesLike(given)) return bytesSource(given);
  throw new TensorjarError(
    "invalid-argument",
    `expected bytes, a Blob or a byte source, got ${describe(given)}`,
    {
      hint:
        typeof given === "string"
          ? "read a path with fileSource(path), a URL with httpSource(url)"
          : "see ByteSource",
    },
  );
}
