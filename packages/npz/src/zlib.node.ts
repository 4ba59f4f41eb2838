import type { ZlibOptions } from "node:zlib";
import { unshared } from "./unshared.js";

/** zlib counts in 32 bits; what is larger goes through it in pieces. */
export const maxAtOnce: number = 1 << 30;

/** Measured: one output chunk of the exact size is the fastest; a byte more shows that the stream has ended. */
export function options(size: number): ZlibOptions {
  return { chunkSize: Math.max(size + 1, 64), maxOutputLength: size + 1 };
}

/**
 * A plain array in memory of its own, nothing else in it: Node puts small buffers side by side into one. Of what zlib has
 * ended with: in memory where more may follow, it goes on writing.
 */
export function own(buffer: Uint8Array): Uint8Array {
  const end = buffer.byteOffset + buffer.length;
  const memory = new Uint8Array(buffer.buffer);
  if (buffer.byteOffset > 0 || memory.length > end + 64) return new Uint8Array(buffer);
  memory.fill(0, end);
  return plain(buffer);
}

/** A plain array on the same memory: a Buffer's `slice` is not an array's. */
export function plain(buffer: Uint8Array): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
}

/** The same bytes in pieces that zlib can take. */
export async function* split(
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const data of pieces) {
    for (let at = 0; at < data.length; at += maxAtOnce)
      yield unshared(data.subarray(at, at + maxAtOnce)); // Bun's zlib refuses memory that can change its size
  }
}
