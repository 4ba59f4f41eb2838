import * as fs from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { TensorjarError } from "@tensorjar/core";
import { describe, quote, writeChunks } from "@tensorjar/core/codec";
import { fileSink, fileSource } from "@tensorjar/core/node";
import { lockFolder } from "./folder-lock.node.js";
import { errnoOf, ioError } from "./io-error.node.js";
import { sortedNames } from "./order.js";
import {
  alreadyExists,
  checkedChunks,
  checkStoreName,
  notFound,
  reserved,
  type Store,
} from "./store.js";

/**
 * A store over a folder, which is made when the first file is put. A file appears by being renamed, after it and its
 * name are on the disk. Temporary files and the lock begin with `.tensorjar-`, and are the only ones ever cleaned up.
 */
export function folderStore(path: string | URL): Store {
  const folder = resolve(toPath(path));
  const at = (name: string): string => {
    checkStoreName(name);
    return join(folder, name);
  };
  return {
    async stat(name) {
      const stats = await statFile(at(name));
      if (stats === undefined) return undefined;
      const { size, mtimeMs, mtimeNs, ino } = stats;
      return {
        size: Number(size),
        etag: `${ino}-${mtimeNs}-${size}`,
        modified: Number(mtimeMs),
      };
    },
    async open(name) {
      const file = at(name);
      if ((await statFile(file)) === undefined) throw notFound(name);
      return fileSource(file);
    },
    async *list(prefix = "") {
      for (let attempt = 1; ; attempt++) {
        const names = await namesIn(folder, prefix);
        let found = 0;
        for (const name of names) {
          const stats = await statFile(join(folder, name));
          if (stats === undefined) continue;
          found++;
          yield { name, size: Number(stats.size), modified: Number(stats.mtimeMs) };
        }
        // Where all of them are gone, another process has deleted them, and newer ones may be there.
        if (found > 0 || names.length === 0 || attempt === attempts) return;
      }
    },
    async put(name, chunks, options = {}) {
      const file = at(name);
      const { ifAbsent = false, size = 0, signal } = options;
      if (ifAbsent && (await statFile(file)) !== undefined) throw alreadyExists(name);
      await makeFolder(folder);
      await writeChunks(
        fileSink(file, { ifExists: ifAbsent ? "error" : "replace" }),
        { byteLength: size, chunks: checkedChunks(name, chunks, options) },
        signal === undefined ? {} : { signal },
      );
      const stats = await statFile(file);
      return stats === undefined ? {} : { etag: `${stats.ino}-${stats.mtimeNs}-${stats.size}` };
    },
    async delete(name) {
      const file = at(name);
      await fs.unlink(file).catch((cause: unknown) => {
        if (errnoOf(cause) !== "ENOENT") throw ioError(cause, file, "could not be deleted");
      });
    },
    async lock(name) {
      checkStoreName(name);
      await makeFolder(folder);
      return lockFolder(folder, name);
    },
  };
}

/** How often a folder is read again whose files were all deleted meanwhile. */
const attempts = 20;

/** The names in a folder that begin with `prefix`, in order, without temporary files and locks. */
async function namesIn(folder: string, prefix: string): Promise<readonly string[]> {
  const names = await fs.readdir(folder).catch((cause: unknown): string[] => {
    if (errnoOf(cause) === "ENOENT") return [];
    throw ioError(cause, folder, "could not be listed");
  });
  return sortedNames(names).filter((name) => name.startsWith(prefix) && !name.startsWith(reserved));
}

/** The path that a string or a `file:` URL names. Throws `invalid-argument`. */
function toPath(path: unknown): string {
  const isUrl = path instanceof URL || (typeof path === "string" && /^(file|https?):/i.test(path));
  let named: unknown = path;
  try {
    if (isUrl) named = fileURLToPath(path);
  } catch {
    named = undefined; // what is wrong with it is said below
  }
  if (typeof named === "string" && named !== "" && !named.includes("\0")) return named;
  throw new TensorjarError("invalid-argument", `expected a folder, got ${describe(path)}`, {
    hint: "give its path, or a file: URL",
  });
}

/** What is known of a regular file; `undefined` when there is none. */
async function statFile(
  path: string,
): Promise<{ size: bigint; mtimeNs: bigint; mtimeMs: bigint; ino: bigint } | undefined> {
  try {
    const stats = await fs.stat(path, { bigint: true });
    return stats.isFile() ? stats : undefined;
  } catch (cause) {
    if (/^(ENOENT|ENOTDIR)$/.test(errnoOf(cause))) return undefined;
    throw ioError(cause, path, "could not be looked up");
  }
}

/** Makes a folder and those above it, durably: without that, a crash could lose the folder with what is in it. */
async function makeFolder(folder: string): Promise<void> {
  let first: string | undefined;
  try {
    first = await fs.mkdir(folder, { recursive: true });
  } catch (cause) {
    if (errnoOf(cause) === "EEXIST") {
      throw new TensorjarError("io", `${quote(folder)} is a file, not a folder`, {
        path: folder,
        errno: "ENOTDIR",
      });
    }
    throw ioError(cause, folder, "could not be made");
  }
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await fs.open(folder, "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // Not every system opens or syncs folders; the file itself is written durably.
  }
}
