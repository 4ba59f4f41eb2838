import { fstatSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { abortable } from "./abort.js";
import { isTensorjarError, quote, TensorjarError } from "./error.js";
import { fileError, toPath } from "./file-error.node.js";
import { type ByteSource, checkRange, type Extras, extras, lengthOf } from "./source.js";
import { unfilled } from "./unfilled.node.js";

/** A long read is split into positioned reads of about this many bytes, several at once: measured, the fastest way to load. */
const pieceLength = 4 << 20;
const piecesAtOnce = 4;

/** What shows that an open file was written to. */
interface Version {
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

/**
 * A source over a file, read by position; `path` may be a `file:` URL. Close it when done.
 * Rejects with `not-found`, or `io` for whatever else the system says (`details.errno`); reads reject with
 * `source-changed` once the file's size or time of change is another than at the start. A file that is replaced by
 * a rename keeps its content here.
 */
export async function fileSource(path: string | URL): Promise<ByteSource> {
  const name = toPath(path);
  let handle: FileHandle | undefined;
  try {
    // Asked before opening, because opening a pipe waits for its other end.
    checkRegular(await stat(name), name);
    handle = await open(name, "r");
    const opened = fstatSync(handle.fd, { bigint: true }); // at once, as when it is read
    checkRegular(opened, name);
    return openSource(handle, opened, name);
  } catch (cause) {
    await handle?.close().catch(() => {}); // what went wrong first is what to tell
    throw isTensorjarError(cause) ? cause : fileError(cause, name, "could not be opened");
  }
}

function checkRegular(stats: { isFile(): boolean; isDirectory(): boolean }, path: string): void {
  if (stats.isFile()) return;
  const folder = stats.isDirectory();
  throw new TensorjarError(
    "io",
    `${quote(path)} is ${folder ? "a folder" : "not a regular file"}`,
    {
      path,
      errno: folder ? "EISDIR" : "ESPIPE",
      hint: folder ? "name a file in it" : "read it to the end and give the bytes",
    },
  );
}

function openSource(handle: FileHandle, opened: Version, path: string): ByteSource {
  const size = Number(opened.size);
  const running = new Set<Promise<void>>();
  let closing: Promise<void> | undefined;

  /** At once: a promise's turn would come after the reads that wait, which measured is a tenth of the time to load. */
  function checkUnchanged(): void {
    const now = fstatSync(handle.fd, { bigint: true });
    if (now.size === opened.size && now.mtimeNs === opened.mtimeNs) return;
    throw new TensorjarError("source-changed", `${quote(path)} was written to while it was open`, {
      path,
      ...(now.size !== opened.size && { expected: size, actual: Number(now.size) }),
      hint: "open it again; whoever writes it should replace it by a rename, as fileSink does",
    });
  }

  function ended(offset: number): TensorjarError {
    checkUnchanged();
    return new TensorjarError("truncated", `${quote(path)} ended at byte ${offset}`, {
      path,
      offset,
      expected: size,
      actual: offset,
    });
  }

  async function readPiece(target: Uint8Array, offset: number): Promise<void> {
    for (let done = 0; done < target.length; ) {
      const { bytesRead } = await handle.read(target, done, target.length - done, offset + done);
      if (bytesRead <= 0) throw ended(offset + done);
      done += bytesRead;
    }
  }

  async function readAll(target: Uint8Array, offset: number, signal?: AbortSignal): Promise<void> {
    const pieces = Math.max(1, Math.round(target.length / pieceLength)); // no short one, which waits as long as the others
    const step = Math.ceil(target.length / pieces);
    let next = 0;
    let failure: { cause: unknown } | undefined;
    const work = async (): Promise<void> => {
      try {
        while (next < target.length && failure === undefined && !signal?.aborted) {
          const at = next;
          next = Math.min(at + step, target.length);
          await readPiece(target.subarray(at, next), offset + at);
        }
      } catch (cause) {
        failure ??= { cause };
      }
    };
    const workers = Math.min(piecesAtOnce, pieces);
    await Promise.all(Array.from({ length: workers }, work));
    if (failure !== undefined) throw failure.cause;
  }

  async function readInto(parts: readonly Uint8Array[], offset: number): Promise<void> {
    let at = offset;
    for (let rest = parts; rest.length > 0; ) {
      const { bytesRead } = await handle.readv(rest, at);
      if (bytesRead <= 0) throw ended(at);
      at += bytesRead;
      rest = after(rest, bytesRead);
    }
  }

  /** Waits for a read that was checked, and for nothing once `signal` is aborted. */
  async function finish(
    length: number,
    read: () => Promise<void>,
    signal?: AbortSignal,
  ): Promise<void> {
    if (closing !== undefined) {
      throw new TensorjarError("invalid-argument", `${quote(path)} was closed before this read`, {
        path,
      });
    }
    if (length === 0) return;
    const reading = (async () => {
      try {
        await read();
        if (!signal?.aborted) checkUnchanged();
      } catch (cause) {
        throw isTensorjarError(cause) ? cause : fileError(cause, path, "could not be read");
      }
    })();
    running.add(reading);
    const done = (): boolean => running.delete(reading);
    reading.then(done, done);
    await abortable(reading, signal);
    signal?.throwIfAborted(); // whoever stopped the event: what was not read is not given away
  }

  const readParts: Extras["readParts"] = async (offset, parts, signal) => {
    signal?.throwIfAborted();
    const filled = parts.filter(({ length }) => length > 0); // of nothing, the system reads nothing
    const length = lengthOf(filled);
    checkRange(size, offset, length);
    await finish(length, async () => readInto(filled, offset), signal);
  };

  const source: ByteSource = {
    size,
    async read(offset, length, { into, signal } = {}) {
      signal?.throwIfAborted();
      checkRange(size, offset, length, into);
      const target = into === undefined ? unfilled(length) : into.subarray(0, length);
      await finish(length, async () => readAll(target, offset, signal), signal);
      return target;
    },
    close() {
      // Not before the last read has ended: the number of a closed file may soon stand for another one.
      closing ??= Promise.allSettled(running)
        .then(() => handle.close())
        .catch((cause: unknown) => {
          throw fileError(cause, path, "could not be closed");
        });
      return closing;
    },
  };
  extras.set(source.read, () => ({ memory: unfilled, readParts }));
  return source;
}

/** What remains of several arrays when the first `length` bytes of them are there. */
function after(parts: readonly Uint8Array[], length: number): readonly Uint8Array[] {
  let first = 0;
  let done = length;
  for (let part = parts[0]; part !== undefined && done >= part.length; part = parts[first]) {
    done -= part.length;
    first++;
  }
  const [cut, ...others] = parts.slice(first);
  return cut === undefined ? [] : [cut.subarray(done), ...others];
}
