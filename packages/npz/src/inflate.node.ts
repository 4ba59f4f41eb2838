import { pipeline, Readable } from "node:stream";
import * as zlib from "node:zlib";
import { allocate } from "@tensorjar/core/codec";
import { unshared } from "./unshared.js";
import { maxAtOnce, options, own, plain, split } from "./zlib.node.js";

/** As the portable function, on a thread of the pool. */
export function inflate(data: Uint8Array, size: number): Promise<Uint8Array> {
  if (Math.max(data.length, size) > maxAtOnce) return inflateLarge(data, size);
  return new Promise((resolve, reject) => {
    zlib.inflateRaw(unshared(data), options(size), (error, content) => {
      if (error) reject(error);
      else resolve(own(content));
    });
  });
}

async function inflateLarge(data: Uint8Array, size: number): Promise<Uint8Array> {
  const out = allocate(size);
  let length = 0;
  for await (const part of inflateChunks([data])) {
    if (length + part.length > size) throw new Error("more comes out than the declared size");
    out.set(part, length);
    length += part.length;
  }
  return out.subarray(0, length);
}

/** As the portable function, by a stream of zlib's. */
export async function* inflateChunks(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const inflater = zlib.createInflateRaw({ chunkSize: 256 << 10 });
  pipeline(Readable.from(split(pieces), { objectMode: false }), inflater, () => {});
  // Where a part does not fill its memory, zlib may still write the next one behind it.
  for await (const part of inflater)
    yield part.length === part.buffer.byteLength ? plain(part) : new Uint8Array(part);
}
