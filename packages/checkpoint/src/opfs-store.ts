import { blobSource, TensorjarError } from "@tensorjar/core";
import { quote, writeChunks } from "@tensorjar/core/codec";
import { sortedNames } from "./order.js";
import {
  alreadyExists,
  checkedChunks,
  checkStoreName,
  locked,
  notFound,
  reserved,
  type Store,
} from "./store.js";

/** What the compiler knows a browser's folders as; programs for Node alone compile without. */
type Directory = typeof globalThis extends { FileSystemDirectoryHandle: { prototype: infer T } }
  ? T
  : never;

/**
 * A store in a browser's private file system, or in a folder the user picked; without `directory` its root.
 * A file is written beside its place and then moved there; one tab at a time holds the lock, and a closed or crashed
 * tab holds nothing. Needs `navigator.storage`, `navigator.locks` and `FileSystemFileHandle.move` (`unsupported` without).
 */
export function opfsStore(directory?: Directory): Store {
  let opened: Promise<Folder> | undefined;
  const folder = async (): Promise<Folder> => {
    opened ??= openFolder(directory);
    try {
      return await opened;
    } catch (cause) {
      opened = undefined; // the next call may find the storage in order
      throw storageError(cause, directory?.name ?? "");
    }
  };
  return {
    async stat(name) {
      checkStoreName(name);
      const file = await fileOf((await folder()).handle, name);
      if (file === undefined) return undefined;
      const { size, lastModified } = file;
      return { size, etag: `${lastModified}-${size}`, modified: lastModified };
    },
    async open(name) {
      checkStoreName(name);
      const file = await fileOf((await folder()).handle, name);
      if (file === undefined) throw notFound(name);
      return blobSource(file);
    },
    async *list(prefix = "") {
      const { handle } = await folder();
      for (const name of sortedNames(await namesIn(handle))) {
        if (!name.startsWith(prefix) || name.startsWith(reserved)) continue;
        const file = await fileOf(handle, name);
        if (file === undefined) continue;
        yield { name, size: file.size, modified: file.lastModified };
      }
    },
    async put(name, chunks, options = {}) {
      checkStoreName(name);
      const { handle, label } = await folder();
      const { ifAbsent = false, size = 0, signal } = options;
      const checkAbsent = async (): Promise<void> => {
        if (ifAbsent && (await fileOf(handle, name)) !== undefined) throw alreadyExists(name);
      };
      await checkAbsent();
      const temporary = `${reserved}${crypto.randomUUID()}.tmp`;
      // The lock of its own name tells others that a temporary file is in use.
      return navigator.locks.request(`${label}${temporary}`, async () => {
        try {
          const file = await handle.getFileHandle(temporary, { create: true });
          await writeChunks(
            await file.createWritable(),
            { byteLength: size, chunks: checkedChunks(name, chunks, options) },
            signal === undefined ? {} : { signal },
          );
          await navigator.locks.request(`${label}${name}`, async () => {
            await checkAbsent();
            await move(file, name);
          });
        } catch (cause) {
          await remove(handle, temporary);
          throw storageError(cause, name);
        }
        const file = await fileOf(handle, name);
        return file === undefined ? {} : { etag: `${file.lastModified}-${file.size}` };
      });
    },
    async delete(name) {
      checkStoreName(name);
      try {
        await (await folder()).handle.removeEntry(name);
      } catch (cause) {
        if (nameOf(cause) !== "NotFoundError") throw storageError(cause, name);
      }
    },
    async lock(name) {
      const { handle, label } = await folder();
      const release = await takeLock(`${label}lock ${name}`);
      if (release === undefined) throw locked(name, "is held by another tab or worker");
      try {
        await removeTemporaries(handle, label);
      } catch (cause) {
        release();
        throw cause;
      }
      return { release: async () => release() };
    },
  };
}

interface Folder {
  readonly handle: FileSystemDirectoryHandle;
  /** What the names of its locks begin with. */
  readonly label: string;
}

async function openFolder(directory: FileSystemDirectoryHandle | undefined): Promise<Folder> {
  if (globalThis.navigator?.storage?.getDirectory === undefined || navigator.locks === undefined) {
    throw new TensorjarError("unsupported", "there is no private file system here, or no locks", {
      hint: "browsers have both in secure contexts (https: or localhost)",
    });
  }
  const root = await navigator.storage.getDirectory();
  const handle = directory ?? root;
  const path = await root.resolve(handle);
  return { handle, label: `tensorjar/${path?.join("/") ?? `//${handle.name}`}/` };
}

async function namesIn(handle: FileSystemDirectoryHandle): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const name of handle.keys()) names.push(name);
  } catch (cause) {
    throw storageError(cause, handle.name);
  }
  return names;
}

async function fileOf(handle: FileSystemDirectoryHandle, name: string): Promise<File | undefined> {
  try {
    return await (await handle.getFileHandle(name)).getFile();
  } catch (cause) {
    if (/^(NotFoundError|TypeMismatchError)$/.test(nameOf(cause))) return undefined;
    throw storageError(cause, name);
  }
}

/**
 * Deletes a temporary file. The browser lets go of one whose stream was aborted a moment after it says so; one that it
 * does not let go of is left to whoever takes the lock next.
 */
async function remove(handle: FileSystemDirectoryHandle, name: string): Promise<void> {
  for (let attempt = 1; attempt <= 20; attempt++) {
    try {
      await handle.removeEntry(name);
      return;
    } catch (cause) {
      if (nameOf(cause) !== "NoModificationAllowedError") return; // it was never made
      await new Promise((resolve) => setTimeout(resolve, 5 * attempt));
    }
  }
}

/** Renames a file over whatever has the name, in one step; not in the DOM's types yet. */
async function move(file: FileSystemFileHandle, name: string): Promise<void> {
  if ("move" in file && typeof file.move === "function") {
    await file.move(name);
    return;
  }
  throw new TensorjarError("unsupported", "files cannot be moved in this browser's file system", {
    hint: "without that a file would be visible half-written",
  });
}

function nameOf(cause: unknown): string {
  return cause instanceof Error ? cause.name : "";
}

/** A fault of the storage as an error of ours; a cancellation and our own errors stay what they are. */
function storageError(cause: unknown, name: string): unknown {
  if (!(cause instanceof DOMException) || cause.name === "AbortError") return cause;
  return new TensorjarError(
    "io",
    `${name && `${quote(name)}: `}the browser's file system says ${cause.name}: ${cause.message}`,
    { name, errno: cause.name },
    { cause },
  );
}

/** Takes a lock until it is released; `undefined` when another has it. */
function takeLock(name: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    navigator.locks
      .request(name, { ifAvailable: true }, (lock) => {
        if (lock === null) return resolve(undefined);
        return new Promise<void>((release) => resolve(release));
      })
      .catch((cause: unknown) => reject(storageError(cause, name)));
  });
}

/** Deletes temporary files that nobody is writing. */
async function removeTemporaries(handle: FileSystemDirectoryHandle, label: string): Promise<void> {
  const { held = [] } = await navigator.locks.query();
  const inUse = new Set(held.map(({ name }) => name));
  for (const name of await namesIn(handle)) {
    if (!/^\.tensorjar-[0-9a-f-]{36}\.tmp/.test(name) || inUse.has(`${label}${name}`)) continue;
    await handle.removeEntry(name).catch(() => {}); // another tab was faster
  }
}
