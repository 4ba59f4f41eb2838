import { pipeline, Readable } from "node:stream";
import * as zlib from "node:zlib";
import { allocate } from "@tensorjar/core/codec";
import { type DeflateLevel, inflateSync as portableInflateSync } from "./deflate.js";

export { type DeflateLevel, deflateSync, inflatePrefix } from "./deflate.js";

/** zlib counts in 32 bits; what is larger goes through it in pieces. */
const maxAtOnce = 1 << 30;

/** Measured: one output chunk of the exact size is the fastest; a byte more shows that the stream has ended. */
function options(size: number): zlib.ZlibOptions {
  return { chunkSize: Math.max(size + 1, 64), maxOutputLength: size + 1 };
}

/** As the portable function, by zlib: three to five times as fast. */
export function inflateSync(data: Uint8Array, size: number): Uint8Array {
  if (Math.max(data.length, size) > maxAtOnce) return portableInflateSync(data, size);
  return own(zlib.inflateRawSync(data, options(size)));
}

/** As the portable function, on a thread of the pool. */
export function inflate(data: Uint8Array, size: number): Promise<Uint8Array> {
  if (Math.max(data.length, size) > maxAtOnce) return inflateLarge(data, size);
  return new Promise((resolve, reject) => {
    zlib.inflateRaw(data, options(size), (error, content) => {
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

/** A plain array in memory of its own: Node puts small buffers side by side into one. */
function own(buffer: Uint8Array): Uint8Array {
  return buffer.buffer.byteLength > buffer.length + 64 ? new Uint8Array(buffer) : plain(buffer);
}

/** A plain array on the same memory: a Buffer's `slice` is not an array's. */
function plain(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}

/** As the portable function, by a stream of zlib's. */
export async function* inflateChunks(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const inflater = zlib.createInflateRaw({ chunkSize: 256 << 10 });
  pipeline(Readable.from(split(pieces), { objectMode: false }), inflater, () => {});
  for await (const part of inflater) yield plain(part);
}

async function* split(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const data of pieces) {
    for (let at = 0; at < data.length; at += maxAtOnce) yield data.subarray(at, at + maxAtOnce);
  }
}

/** As the portable function, on a thread of the pool. */
export function deflate(pieces: readonly Uint8Array[], level: DeflateLevel): Promise<Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const deflater = zlib.createDeflateRaw({ level, chunkSize: 256 << 10 });
    const parts: Uint8Array[] = [];
    deflater.on("data", (part: Uint8Array) => parts.push(part));
    deflater.on("error", reject);
    deflater.on("end", () => resolve(parts));
    pipeline(Readable.from(split(pieces), { objectMode: false }), deflater, () => {});
  });
}
