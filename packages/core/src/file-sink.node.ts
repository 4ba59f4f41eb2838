import * as fs from "node:fs";
import { dirname, resolve } from "node:path";
import { isTensorjarError, quote, TensorjarError } from "./error.js";
import { errnoOf, fileError, toPath, withCode } from "./file-error.node.js";
import type { Sink } from "./sink.js";
import {
  commitTemporary,
  createTemporary,
  removeTemporary,
  type TemporaryFile,
} from "./temporary-file.node.js";
import { allocate, type Bytes, toBytes } from "./tensor.js";

export interface FileSinkOptions {
  /** Whether a file of that name is replaced (the default) or is `already-exists`. */
  ifExists?: "replace" | "error";
  /** Whether `close` waits until the disk has the bytes and the name (the default). */
  durable?: boolean;
}

/** A sink with everything that sinks may have. */
export interface FileSink extends Sink {
  write(chunk: Uint8Array): Promise<void>;
  close(): Promise<void>;
  abort(reason?: unknown): Promise<void>;
  rewrite(offset: number, chunk: Uint8Array): Promise<void>;
}

/** Bytes of one write: measured, the fastest. */
const sliceLength = 8 << 20;

/**
 * Chunks up to `smallLength` are gathered, so that thousands of them do not cost a system call each, and written
 * while the next are gathered.
 */
const gatheredLength = 1 << 20;
const smallLength = 256 << 10;
/** Where the next sink to need memory gathers: of many that are open at once, as those of shards, each has one buffer. */
let spare: Bytes | undefined;

/**
 * A sink that replaces a file as a whole: bytes go to a temporary file beside it, `.tensorjar-PID-UUID.tmp`, which
 * takes its name when `close` is called, and which is gone as soon as anything fails or `abort` is called. Whoever
 * reads sees the old content or the new. A symbolic link is written through; the mode of a replaced file is kept;
 * nothing is opened before the first write. `path` may be a `file:` URL.
 *
 * With `ifExists: "error"` the name is taken by a hard link, which is atomic too; on a disk without them an empty file
 * reserves it for the moment until the rename. An abort after that moment comes too late: the file is saved.
 * A process that is killed leaves its temporary file. Nothing here deletes one that it did not make: whether its
 * process lives cannot be told across containers and network disks.
 *
 * Rejects with `io` (`details.errno`, such as ENOSPC), `not-found` (its folder), `already-exists`, and
 * `invalid-argument` for use after `close` or `abort`.
 */
export function fileSink(
  path: string | URL,
  { ifExists = "replace", durable = true }: FileSinkOptions = {},
): FileSink {
  const name = toPath(path);
  const target = resolve(name);
  if (ifExists !== "replace" && ifExists !== "error") {
    throw new TensorjarError(
      "invalid-argument",
      `ifExists is ${quote(String(ifExists))}, not "replace" or "error"`,
      { name: "ifExists" },
    );
  }
  let file: TemporaryFile | undefined;
  let size = 0;
  const gathered = { bytes: allocate(0), length: 0 };
  let writing: Promise<void> | undefined;
  let ended: "closed" | "aborted" | TensorjarError | undefined;
  let last: Promise<void> = Promise.resolve();

  /** Runs one operation after the other; a failure ends the sink. */
  function next(what: string, operation: () => Promise<void>): Promise<void> {
    const result = last.then(async () => {
      checkOpen();
      try {
        await operation();
      } catch (cause) {
        const error = isTensorjarError(cause) ? cause : fileError(cause, name, what);
        ended ??= error;
        await discard();
        throw error;
      }
    });
    last = result.catch(() => {});
    return result;
  }

  function checkOpen(): void {
    if (ended === undefined) return;
    if (isTensorjarError(ended)) throw ended;
    throw new TensorjarError("invalid-argument", `the sink for ${quote(name)} was ${ended}`, {
      path: name,
      hint: "make a new fileSink(path)",
    });
  }

  function opened(): TemporaryFile {
    file ??= createTemporary(target, name, ifExists);
    return file;
  }

  async function discard(): Promise<void> {
    if (file === undefined) return;
    const { fd } = file;
    removeTemporary(file);
    file = undefined;
    await writing?.catch(() => {}); // the number of a closed file may soon be another's
    await close(fd).catch(() => {});
  }

  async function put(bytes: Uint8Array, position: number, length: number): Promise<void> {
    const { fd } = opened();
    for (let done = 0; done < length; ) {
      const slice = whole(bytes, length).subarray(done, done + sliceLength);
      const count = await write(fd, slice, position + done);
      checkOpen(); // it may have been aborted meanwhile
      if (count <= 0) throw withCode("ENOSPC", "a write took no bytes");
      done += count;
    }
  }

  /** Has what is gathered written once all before it is, and gathers in other memory. */
  async function pass(): Promise<void> {
    await writing;
    const { bytes, length } = gathered;
    writing = put(bytes.subarray(0, length), size - length, length).then(() => {
      spare = bytes;
    });
    writing.catch(() => {}); // thrown where it is awaited
    gathered.bytes = allocate(0);
    gathered.length = 0;
  }

  async function flush(): Promise<void> {
    if (gathered.length > 0) await pass();
    await writing;
  }

  const sink: FileSink = {
    write: (chunk) =>
      next("could not be written", async () => {
        const bytes = toBytes(chunk);
        const { length } = bytes;
        opened();
        if (length > smallLength) {
          await flush();
          await put(bytes, size, length);
        } else {
          if (gathered.length + length > gatheredLength) await pass();
          if (gathered.bytes.length === 0) {
            gathered.bytes = spare ?? allocate(gatheredLength);
            spare = undefined;
          }
          gathered.bytes.set(whole(bytes, length), gathered.length);
          gathered.length += length;
        }
        size += length;
      }),
    rewrite: (offset, chunk) =>
      next("could not be written", async () => {
        const bytes = toBytes(chunk);
        const { length } = bytes;
        const end = offset + length;
        if (!Number.isSafeInteger(offset) || offset < 0 || end > size) {
          throw new TensorjarError(
            "invalid-argument",
            `bytes ${offset} to ${end} of ${quote(name)} were to be rewritten, ${size} are written`,
            { path: name },
          );
        }
        await flush();
        await put(bytes, offset, length);
      }),
    close: () =>
      next("could not be saved", async () => {
        const done = opened();
        await flush();
        if (durable) await sync(done.fd);
        checkOpen();
        commitTemporary(done, name, ifExists);
        ended = "closed";
        file = undefined;
        await close(done.fd);
        if (durable) await syncFolder(dirname(done.target));
      }),
    abort() {
      if (ended === undefined) {
        ended = "aborted";
        if (file !== undefined) removeTemporary(file); // at once, although a write may be under way
        last = last.then(discard);
      }
      return last;
    },
  };
  // Not enumerable: `{ ...sink, write }` may keep what it is given.
  return Object.defineProperty(sink, "transient", { value: true });
}

/** The bytes, all of which must still be there. */
function whole(bytes: Uint8Array, length: number): Uint8Array {
  const now = toBytes(bytes); // throws where they were transferred meanwhile
  if (now.length < length) {
    throw new TensorjarError("invalid-argument", "a chunk became shorter while it was written", {
      expected: length,
      actual: now.length,
    });
  }
  return now;
}

/** Bytes written: fewer than asked when a disk fills up, without an error. */
function write(fd: number, bytes: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.write(fd, bytes, 0, bytes.length, position, (cause, count) =>
      cause ? reject(cause) : resolve(count),
    );
  });
}

function sync(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.fsync(fd, (cause) => (cause ? reject(cause) : resolve()));
  });
}

function close(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.close(fd, (cause) => (cause ? reject(cause) : resolve()));
  });
}

/** Makes a new name itself durable, where a folder can be synced. */
async function syncFolder(folder: string): Promise<void> {
  let fd: number;
  try {
    fd = fs.openSync(folder, "r");
  } catch {
    return; // Windows opens no folders; elsewhere the folder may be writable only
  }
  try {
    await sync(fd);
  } catch (cause) {
    if (!/^(EINVAL|ENOTSUP|EPERM|EISDIR|EBADF)$/.test(errnoOf(cause))) throw cause;
  } finally {
    await close(fd);
  }
}
