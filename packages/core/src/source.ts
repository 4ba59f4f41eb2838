import { abortable } from "./abort.js";
import { isCount } from "./dtype.js";
import { describe, TensorjarError } from "./error.js";
import { allocate, type BytesLike, isBytesLike, toBytes } from "./tensor.js";

export interface SourceReadOptions {
  /** Where the bytes go: at its start, and it must be at least `length` long. After an abort some may still arrive there. */
  into?: Uint8Array;
  signal?: AbortSignal;
}

/** Random access to the bytes of a file, wherever it lies. */
export interface ByteSource {
  /** Length in bytes. */
  readonly size: number;
  /**
   * Exactly `length` bytes from `offset`, in `into` when given; without it the result may be a view of the source's
   * own memory, to be read and not to be changed, by the source neither. Rejects with `truncated`, `source-changed`,
   * `io` or `http`; never short.
   */
  read(offset: number, length: number, options?: SourceReadOptions): Promise<Uint8Array>;
  close?(): Promise<void>;
}

/** What every `open` function reads from. A promise's source belongs to the callee, which closes it when opening fails. */
export type SourceLike = BytesLike | Blob | ByteSource | Promise<ByteSource>;

/** Throws `truncated` for a range that the source does not have, `invalid-argument` for one that no source has. */
export function checkRange(size: number, offset: number, length: number, into?: Uint8Array): void {
  const end = offset + length;
  if (!isCount(offset) || !isCount(length) || (into !== undefined && into.length < length)) {
    throw new TensorjarError(
      "invalid-argument",
      `bytes ${offset} to ${end} cannot be read into ${into?.length ?? length} bytes`,
    );
  }
  if (end > size) {
    throw new TensorjarError(
      "truncated",
      `the file has ${size} bytes, not bytes ${offset} to ${end}`,
      {
        offset,
        expected: end,
        actual: size,
      },
    );
  }
}

/** Anyone's source, held to the contract: exactly the bytes asked for, in `into`, and an abort that rejects at once. */
function strictSource(source: ByteSource): ByteSource {
  const { size } = source;
  const strict: ByteSource = {
    size,
    async read(offset, length, options = {}) {
      const { into, signal } = options;
      signal?.throwIfAborted();
      checkRange(size, offset, length, into);
      const reading = async (): Promise<Uint8Array> => source.read(offset, length, options); // also at once
      const bytes = toBytes(await abortable(reading(), signal));
      if (bytes.length !== length) {
        throw new TensorjarError(
          bytes.length < length ? "truncated" : "invalid-argument",
          `the source gave ${bytes.length} bytes for ${length} at ${offset}`,
          { offset, expected: length, actual: bytes.length },
        );
      }
      return placed(bytes, into);
    },
    async close() {
      await source.close?.();
    },
  };
  extras.set(strict.read, () => extrasOf(source)); // as it is then: its `read` may be replaced
  return strict;
}

/** What a source of ours can do besides. Known by its `read`: what reads in another way is not read around. */
export interface Extras {
  /** Memory for reads, all of which fill it to the last byte or reject; before, it may hold anything. */
  memory(length: number): Uint8Array;
  /** Fills each of `parts` with the bytes that follow those of the one before, the first from `offset`: all at once. */
  readParts(offset: number, parts: readonly Uint8Array[], signal?: AbortSignal): Promise<void>;
}

export const extras: WeakMap<ByteSource["read"], () => Extras | undefined> = new WeakMap();

function extrasOf({ read }: ByteSource): Extras | undefined {
  return extras.get(read)?.();
}

/** Whether a source reads into several arrays at once. */
export function readsParts(source: ByteSource): boolean {
  return extrasOf(source) !== undefined;
}

/** Memory for what is read from `source`, of its own. */
export function memoryFor(source: ByteSource, length: number): Uint8Array {
  return extrasOf(source)?.memory(length) ?? allocate(length);
}

/** Bytes of several arrays. */
export function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Parts of fewer bytes on average are cheaper to copy out of what one read brings. */
const copied = 16 << 10;

/** Fills `parts` one after another from `offset` of a source, with one read. */
export async function readParts(
  source: ByteSource,
  offset: number,
  parts: readonly Uint8Array[],
  signal?: AbortSignal,
): Promise<void> {
  const options = signal && { signal };
  const length = lengthOf(parts);
  const [into] = parts;
  const only = parts.length === 1 && into && { into };
  const more = extrasOf(source);
  if (!only && more && length >= parts.length * copied)
    return more.readParts(offset, parts, signal);
  const bytes = await source.read(offset, length, { ...options, ...only });
  if (only) return;
  let done = 0;
  for (const part of parts) {
    part.set(bytes.subarray(done, done + part.length));
    done += part.length;
  }
}

/** Bytes that were read, in `into` where that is given and they are not there yet. */
function placed(bytes: Uint8Array, into?: Uint8Array): Uint8Array {
  if (into === undefined) return bytes;
  if (bytes.buffer !== into.buffer || bytes.byteOffset !== into.byteOffset) into.set(bytes);
  return into.subarray(0, bytes.length);
}

/** A source over bytes in memory; what it reads are views on them. Of memory that was transferred, reads reject with `invalid-argument`. */
export function bytesSource(bytes: BytesLike): ByteSource {
  const memory = toBytes(bytes);
  return {
    size: memory.length,
    async read(offset, length, { into, signal } = {}) {
      signal?.throwIfAborted();
      checkRange(toBytes(memory).length, offset, length, into); // as it is now
      return placed(memory.subarray(offset, offset + length), into);
    },
    async close() {},
  };
}

/** Whether `value` is a `Blob` or `File`, also of another realm; `Bun.stdin` and files of S3 are without a size, and none. */
export function isBlob(value: unknown): value is Blob {
  const { arrayBuffer, slice, size }: Partial<Blob> = Object(value);
  return typeof arrayBuffer === "function" && slice !== undefined && Number.isSafeInteger(size);
}

/** Bytes read from a Blob at a time, so that a large read never holds its bytes twice. */
const blobPiece = 8 << 20;

/** A source over a `Blob` or `File`. Throws `invalid-argument` for anything else; a file that changed on disk is `source-changed`. */
export function blobSource(blob: Blob): ByteSource {
  if (!isBlob(blob)) {
    throw new TensorjarError("invalid-argument", `expected a Blob, got ${describe(blob)}`);
  }
  const { size } = blob;
  const read: ByteSource["read"] = async (offset, length, { into, signal } = {}) => {
    const target = (into ?? allocate(length)).subarray(0, length);
    let done = 0;
    do {
      const at = offset + done;
      const end = Math.min(at + blobPiece, offset + length);
      // A Bun.file that is not there has 0 bytes and is only missed when it is read whole.
      const reading = (size > 0 ? blob.slice(at, end) : blob).arrayBuffer();
      const bytes = await reading.catch((cause: unknown) => blobError(cause, at));
      if (bytes.byteLength !== end - at) blobError(undefined, at);
      signal?.throwIfAborted();
      target.set(new Uint8Array(bytes), done);
      done += blobPiece;
    } while (done < length);
    return target;
  };
  return strictSource({ size, read });
}

/** Browsers say NotReadableError when the file on disk is not the one that was chosen; a short read means the same. Bun says ENOENT. */
function blobError(cause: unknown, offset: number): never {
  const told = String(cause ?? "NotReadableError");
  throw new TensorjarError(
    /^NotRead/.test(told) ? "source-changed" : /^NotFound|ENOENT/.test(told) ? "not-found" : "io",
    `a Blob could not be read at byte ${offset} (${told})`,
    { offset, hint: "choose the file again" },
    { cause },
  );
}

/** Whether `value` has the form of a {@link ByteSource}. */
export function isByteSource(value: unknown): value is ByteSource {
  const { read, size }: { read?: unknown; size?: unknown } = Object(value);
  return typeof read === "function" && Number.isSafeInteger(size);
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
