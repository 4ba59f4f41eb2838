import type { Bytes, Chunks, SinkLike } from "@tensorjar/core";
import { toBytes, writeChunks } from "@tensorjar/core/codec";
import type { NpyArray } from "./array.js";
import { cloneBytes } from "./bytes.js";
import { type NpyWriteOptions, npyPieces } from "./encode.js";

/**
 * An .npy file as chunks to pull: the header, then views of the array's data, which must not change until they are
 * taken; iterated again, they are the same. Throws at once, as `encodeNpy` does; iterating rejects with `invalid-argument` for memory that was transferred.
 */
export function npyChunks(array: NpyArray, options?: NpyWriteOptions): Chunks {
  const { byteLength, pieces } = npyPieces(array, options);
  return { byteLength, chunks: { [Symbol.asyncIterator]: () => pull(pieces) } };
}

async function* pull([header, ...data]: readonly Uint8Array[]): AsyncGenerator<Bytes> {
  if (header !== undefined) yield cloneBytes(header); // whoever iterates again gets the same
  for (const piece of data) {
    const { buffer, byteOffset, length } = toBytes(piece); // throws for memory that was transferred meanwhile
    yield buffer instanceof ArrayBuffer && !Object(buffer).resizable // streams and Blob refuse other memory
      ? new Uint8Array(buffer, byteOffset, length)
      : cloneBytes(new Uint8Array(buffer, byteOffset, length));
  }
}

/**
 * Writes an .npy file and closes the sink, which is aborted when that fails. Rejects with the sink's errors and with what
 * `encodeNpy` throws, which leaves the sink untouched.
 */
export async function writeNpy(
  sink: SinkLike,
  array: NpyArray,
  options?: NpyWriteOptions,
): Promise<void> {
  await writeChunks(sink, npyChunks(array, options));
}
