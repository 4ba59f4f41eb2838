import { type Bytes, bytesSource } from "@tensorjar/core";
import { allocate } from "@tensorjar/core/codec";
import { sortedNames } from "./order.js";
import {
  alreadyExists,
  checkedChunks,
  checkStoreName,
  locked,
  notFound,
  type Store,
} from "./store.js";

/** A store that lives as long as the object: for tests, and for pages that keep nothing. */
export function memoryStore(): Store {
  const files = new Map<string, { bytes: Bytes; etag: string; modified: number }>();
  const locks = new Set<string>();
  let version = 0;
  return {
    async stat(name) {
      checkStoreName(name);
      const file = files.get(name);
      if (file === undefined) return undefined;
      return { size: file.bytes.length, etag: file.etag, modified: file.modified };
    },
    async open(name) {
      checkStoreName(name);
      const file = files.get(name);
      if (file === undefined) throw notFound(name);
      return bytesSource(file.bytes);
    },
    async *list(prefix = "") {
      for (const name of sortedNames(files.keys())) {
        const file = files.get(name);
        if (file === undefined || !name.startsWith(prefix)) continue;
        yield { name, size: file.bytes.length, modified: file.modified };
      }
    },
    async put(name, chunks, options = {}) {
      checkStoreName(name);
      if (options.ifAbsent === true && files.has(name)) throw alreadyExists(name);
      const bytes = await gather(checkedChunks(name, chunks, options), options.size);
      options.signal?.throwIfAborted();
      if (options.ifAbsent === true && files.has(name)) throw alreadyExists(name);
      const etag = String(++version);
      files.set(name, { bytes, etag, modified: Date.now() });
      return { etag };
    },
    async delete(name) {
      checkStoreName(name);
      files.delete(name);
    },
    async lock(name) {
      if (locks.has(name)) throw locked(name, "is held by another writer");
      locks.add(name);
      let held = true;
      return {
        async release() {
          if (held) locks.delete(name);
          held = false;
        },
      };
    },
  };
}

/** Copies chunks into one buffer, allocated once where their size is known. */
async function gather(chunks: AsyncIterable<Uint8Array>, size = 0): Promise<Bytes> {
  let bytes = allocate(size);
  let length = 0;
  for await (const chunk of chunks) {
    if (length + chunk.length > bytes.length) {
      const larger = allocate(Math.max(2 * bytes.length, length + chunk.length));
      larger.set(bytes.subarray(0, length));
      bytes = larger;
    }
    bytes.set(chunk, length);
    length += chunk.length;
  }
  return length === bytes.length ? bytes : bytes.slice(0, length);
}
