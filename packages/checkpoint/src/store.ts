import { type ByteSource, type Bytes, TensorjarError } from "@tensorjar/core";
import { abortable, describe, isBytesLike, quote, toBytes } from "@tensorjar/core/codec";

export interface PutOptions {
  /** Bytes to come; another number is `invalid-argument`. */
  size?: number;
  /** Rejects with `already-exists` where the name is taken, without a gap between looking and writing. */
  ifAbsent?: boolean;
  signal?: AbortSignal;
}

export interface StoreEntry {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970, for people to read: nothing is decided by it. */
  readonly modified?: number;
}

export interface StoreLock {
  release(): Promise<void>;
  /** Shows that the holder lives, and rejects with `locked` when the lock was lost. */
  check?(): Promise<void>;
}

/** Named immutable files: a folder, a bucket, memory. Names are plain file names. */
export interface Store {
  /** Size and identity of a file; `undefined` when there is none. */
  stat(name: string): Promise<{ size: number; etag?: string; modified?: number } | undefined>;
  /** Rejects with `not-found`. */
  open(name: string): Promise<ByteSource>;
  /** What is there, in the order of names; temporary files and locks are not. */
  list(prefix?: string): AsyncIterable<StoreEntry>;
  /**
   * Visible and durable when it resolves, replacing what had the name; nothing is left when it fails. Takes every chunk;
   * their memory is used again once it has resolved, so that a store which keeps them keeps copies.
   */
  put(
    name: string,
    chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    options?: PutOptions,
  ): Promise<{ etag?: string }>;
  /** Resolves also when there is no such file. */
  delete(name: string): Promise<void>;
  /** The one lock of that name, or `locked`. What a dead holder left is removed. */
  lock?(name: string): Promise<StoreLock>;
}

/** What temporary files and locks in a folder are called; names that begin so are reserved. */
export const reserved = ".tensorjar-";

/** Throws `invalid-name` for what is no plain file name. */
export function checkStoreName(name: string): void {
  const wrong =
    typeof name !== "string" ||
    name === "" ||
    name === "." ||
    name === ".." ||
    name.startsWith(reserved) ||
    /[/\\:\0-\x1f\x7f]|\p{Surrogate}/u.test(name) ||
    new TextEncoder().encode(name).length > 255;
  if (!wrong) return;
  throw new TensorjarError(
    "invalid-name",
    `${typeof name === "string" ? quote(name) : describe(name)} cannot be the name of a file in a store`,
    {
      name,
      hint: `use a plain file name of at most 255 bytes, without / \\ : and control characters, that does not begin with ${reserved}`,
    },
  );
}

export function notFound(name: string): TensorjarError {
  return new TensorjarError("not-found", `the store has no file ${quote(name)}`, { name });
}

export function alreadyExists(name: string): TensorjarError {
  return new TensorjarError("already-exists", `the store has a file ${quote(name)} already`, {
    name,
  });
}

export function locked(name: string, why: string): TensorjarError {
  return new TensorjarError("locked", `the lock ${quote(name)} ${why}`, {
    name,
    hint: "close() the other one first, or write to another folder",
  });
}

/** The chunks to put, each checked to be bytes, their sum to be `size`; ends at once when `signal` is aborted. */
export async function* checkedChunks(
  name: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { size, signal }: PutOptions,
): AsyncGenerator<Bytes, void, undefined> {
  signal?.throwIfAborted();
  const iterator = iteratorOf(chunks);
  let written = 0;
  let done = false;
  try {
    for (;;) {
      const next = await abortable(Promise.resolve(iterator.next()), signal);
      if (next.done === true) break;
      const given: unknown = next.value;
      if (!isBytesLike(given)) {
        throw new TensorjarError(
          "invalid-argument",
          `a chunk of ${quote(name)} is ${describe(given)}, not bytes`,
          { name },
        );
      }
      const bytes = toBytes(given);
      written += bytes.length;
      if (size !== undefined && written > size) throw wrongSize(name, size, written);
      yield bytes as Bytes; // no consumer tells shared memory from other memory: all copy or write it
    }
    done = true;
  } finally {
    // Not awaited: an iterator that hangs must not hold up a cancellation.
    if (!done) Promise.resolve(iterator.return?.()).catch(() => {});
  }
  if (size !== undefined && written !== size) throw wrongSize(name, size, written);
}

function iteratorOf(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Iterator<Uint8Array> | AsyncIterator<Uint8Array> {
  return Symbol.asyncIterator in chunks
    ? chunks[Symbol.asyncIterator]()
    : chunks[Symbol.iterator]();
}

function wrongSize(name: string, expected: number, actual: number): TensorjarError {
  return new TensorjarError(
    "invalid-argument",
    `${expected} bytes were announced for ${quote(name)}, but ${actual} came`,
    { name, expected, actual },
  );
}
