import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { quote, TensorjarError } from "./error.js";
import { errnoOf, fileError, toPath } from "./file-error.node.js";
import type { Sink } from "./sink.js";
import { allocate, toBytes } from "./tensor.js";

export interface FileSinkOptions {
  /** Whether a file of that name is replaced (the default) or is `already-exists`. */
  ifExists?: "replace" | "error";
  /** Whether `close` waits until the disk has the bytes and the name (the default). */
  durable?: boolean;
}

/** Bytes of one write: measured, the fastest. */
const sliceLength = 8 << 20;

/** Chunks up to `smallLength` are gathered, so that thousands of them do not cost a system call each. */
const gatheredLength = 1 << 20;
const smallLength = 256 << 10;

const fsync = (fd: number): Promise<void> => called((done) => fs.fsync(fd, done));
const close = (fd: number): Promise<void> => called((done) => fs.close(fd, done));

function called(start: (done: (cause: Error | null | undefined) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((cause) => (cause ? reject(cause) : resolve()));
  });
}

/** Bytes written: fewer than asked when a disk fills up, without an error. */
function write(fd: number, bytes: Uint8Array, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.write(fd, bytes, 0, bytes.length, position, (cause, count) =>
      cause ? reject(cause) : resolve(count),
    );
  });
}

/** A temporary file under way. */
interface Temporary {
  readonly fd: number;
  readonly path: string;
  readonly target: string;
  /** False once it was renamed or removed. */
  present: boolean;
}

/**
 * A sink that replaces a file as a whole: bytes go to a temporary file beside it (`.tensorjar-PID-UUID.tmp`), which
 * takes its name when `close` is called, and which is gone when anything fails or `abort` is called. Whoever reads
 * sees the old content or the new one. A symbolic link is written through; the mode of a replaced file is kept.
 * Nothing is opened before the first write. A process that is killed leaves its temporary file; nothing here ever
 * deletes one that it did not make.
 * `ifExists: "error"` is atomic too, by a hard link; where a disk has none, the name is reserved by an empty file first.
 * Fails with `io` (`details.errno`, such as ENOSPC), `not-found`, `already-exists`, and `invalid-argument` for use after `close` or `abort`.
 */
export function fileSink(
  path: string | URL,
  { ifExists = "replace", durable = true }: FileSinkOptions = {},
): Required<Pick<Sink, "write" | "close" | "abort" | "rewrite">> {
  const name = toPath(path);
  if (ifExists !== "replace" && ifExists !== "error") {
    throw new TensorjarError(
      "invalid-argument",
      `ifExists is ${quote(String(ifExists))}, not "replace" or "error"`,
      { name: "ifExists" },
    );
  }
  let file: Temporary | undefined;
  let size = 0;
  const gathered = { bytes: allocate(0), length: 0 };
  let ended: "closed" | "aborted" | TensorjarError | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** Runs one operation after the other; a failure removes the temporary file at once. */
  function next<T>(what: string, operation: () => Promise<T>): Promise<T> {
    const result = last.then(async () => {
      checkOpen();
      try {
        return await operation();
      } catch (cause) {
        const error = cause instanceof TensorjarError ? cause : fileError(cause, name, what);
        ended ??= error;
        await discard();
        throw error;
      }
    });
    last = result.catch(() => {});
    return result;
  }

  function checkOpen(): void {
    if (ended instanceof TensorjarError) throw ended;
    if (ended === undefined) return;
    throw new TensorjarError(
      "invalid-argument",
      `the sink for ${quote(name)} was ${ended} before`,
      {
        path: name,
        hint: "make a new fileSink(path) for another file",
      },
    );
  }

  async function discard(): Promise<void> {
    if (file === undefined) return;
    remove(file);
    const { fd } = file;
    file = undefined;
    await close(fd).catch(() => {});
  }

  async function put(bytes: Uint8Array, position: number): Promise<void> {
    file ??= create(name, ifExists);
    for (let done = 0; done < bytes.length; ) {
      const slice = bytes.subarray(done, done + sliceLength);
      const count = await write(file.fd, slice, position + done);
      checkOpen(); // it may have been aborted meanwhile
      if (count <= 0) throw withCode("ENOSPC", "a write took no bytes");
      done += count;
    }
  }

  async function flush(): Promise<void> {
    const { bytes, length } = gathered;
    gathered.length = 0;
    if (length > 0) await put(bytes.subarray(0, length), size - length);
  }

  return {
    write: (chunk) =>
      next("could not be written", async () => {
        const bytes = toBytes(chunk);
        file ??= create(name, ifExists);
        if (bytes.length > smallLength) {
          await flush();
          await put(bytes, size);
        } else {
          if (gathered.bytes.length === 0) gathered.bytes = allocate(gatheredLength);
          if (gathered.length + bytes.length > gatheredLength) await flush();
          gathered.bytes.set(bytes, gathered.length);
          gathered.length += bytes.length;
        }
        size += bytes.length;
      }),
    rewrite: (offset, chunk) =>
      next("could not be rewritten", async () => {
        const bytes = toBytes(chunk);
        if (!Number.isSafeInteger(offset) || offset < 0 || offset + bytes.length > size) {
          throw new TensorjarError(
            "invalid-argument",
            `bytes ${offset} to ${offset + bytes.length} are to be rewritten, ${size} were written`,
            { path: name },
          );
        }
        await flush();
        await put(bytes, offset);
      }),
    close: () =>
      next("could not be saved", async () => {
        file ??= create(name, ifExists);
        await flush();
        if (durable) await fsync(file.fd);
        checkOpen();
        commit(file, ifExists, name);
        ended = "closed";
        const { fd, target } = file;
        file = undefined;
        await close(fd);
        if (durable) await syncFolder(dirname(target));
      }),
    async abort() {
      if (ended !== undefined) return last.then(() => {});
      ended = "aborted";
      if (file !== undefined) remove(file); // at once, although a write may still be under way
      last = last.then(discard);
      await last;
    },
  };
}

/** Makes the temporary file, synchronously: nothing can be aborted half-way. */
function create(path: string, ifExists: "replace" | "error"): Temporary {
  const target = realTarget(path);
  const old = fs.statSync(target, { throwIfNoEntry: false });
  if (old !== undefined && ifExists === "error") throw exists(path);
  if (old?.isDirectory()) throw withCode("EISDIR", "a folder");
  if (old !== undefined && !old.isFile()) {
    throw new TensorjarError("io", `${quote(path)} is not a regular file`, {
      path,
      hint: "write to a file, or give a sink of your own",
    });
  }
  const mode = old === undefined ? 0o666 : old.mode & 0o777;
  const temporary = join(dirname(target), `.tensorjar-${process.pid}-${randomUUID()}.tmp`);
  const fd = fs.openSync(temporary, "wx", mode);
  const file: Temporary = { fd, path: temporary, target, present: true };
  if (old !== undefined) {
    try {
      fs.fchmodSync(fd, mode);
    } catch (cause) {
      remove(file);
      fs.closeSync(fd);
      throw cause;
    }
  }
  return file;
}

/** Where the bytes really go: behind symbolic links, also one that points to a file that is not there yet. */
function realTarget(path: string): string {
  let target = resolve(path);
  for (let links = 0; links < 40; links++) {
    const found = fs.lstatSync(target, { throwIfNoEntry: false });
    if (found === undefined || !found.isSymbolicLink()) {
      return join(fs.realpathSync(dirname(target)), basename(target));
    }
    target = resolve(fs.realpathSync(dirname(target)), fs.readlinkSync(target));
  }
  throw withCode("ELOOP", "too many symbolic links");
}

function exists(path: string): TensorjarError {
  return new TensorjarError("already-exists", `${quote(path)} exists already`, {
    path,
    hint: 'choose another name, or ifExists: "replace"',
  });
}

/** Gives the file its name, in one step that other processes see as a whole. */
function commit(file: Temporary, ifExists: "replace" | "error", path: string): void {
  if (ifExists === "error") {
    try {
      fs.linkSync(file.path, file.target);
      remove(file);
      return;
    } catch (cause) {
      if (errnoOf(cause) === "EEXIST") throw exists(path);
      if (!noHardLinks.test(errnoOf(cause))) throw cause;
      reserve(file.target, path);
      try {
        fs.renameSync(file.path, file.target);
      } catch (renaming) {
        fs.unlinkSync(file.target);
        throw renaming;
      }
      file.present = false;
      return;
    }
  }
  fs.renameSync(file.path, file.target);
  file.present = false;
}

/** What systems say where a disk has no hard links: FAT, some network disks, Android. */
const noHardLinks = /^(EPERM|EACCES|ENOTSUP|EOPNOTSUPP|ENOSYS|EINVAL|EMLINK)$/;

/** Takes a name by an empty file, unless somebody has it. */
function reserve(target: string, path: string): void {
  try {
    fs.closeSync(fs.openSync(target, "wx"));
  } catch (cause) {
    throw errnoOf(cause) === "EEXIST" ? exists(path) : cause;
  }
}

function remove(file: Temporary): void {
  if (!file.present) return;
  file.present = false;
  try {
    fs.unlinkSync(file.path);
  } catch {
    // whatever hinders it, what went wrong first is what the caller needs to know
  }
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Makes the new name itself durable, where a folder can be synced. */
async function syncFolder(folder: string): Promise<void> {
  let fd: number;
  try {
    fd = fs.openSync(folder, "r");
  } catch {
    return; // Windows opens no folders
  }
  try {
    await fsync(fd);
  } catch (cause) {
    if (!/^(EINVAL|ENOTSUP|EPERM|EISDIR|EBADF)$/.test(errnoOf(cause))) throw cause;
  } finally {
    fs.closeSync(fd);
  }
}
