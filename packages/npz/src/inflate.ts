import { TensorjarError } from "@tensorjar/core";
import { outputOf } from "./output.js";
import { native, through } from "./streams.js";

// As `inflate-sync.js` and with its errors, without blocking. fflate is loaded where the engine's own inflater cannot do it.

/**
 * The content of a deflate stream whose content should be `size` bytes. Measured in Chromium 156 on 64 MiB of float32:
 * 0.3 to 0.6 of the time of fflate, which its workers do not reach; pieces of 64 KiB are as fast as of 1 MiB.
 */
export async function inflate(data: Uint8Array, size: number): Promise<Uint8Array> {
  const inflater = native("DecompressionStream");
  if (inflater !== undefined) {
    const output = outputOf(size + 1);
    try {
      for await (const part of through(inflater, [data])) {
        output.add(part);
        if (output.isFull()) break;
      }
      return output.bytes();
    } catch {
      // Engines refuse bytes after the end of a stream, which fflate and zlib let be: fflate has the last word.
    }
  }
  return (await portable()).inflateSync(data, size);
}

/** The content of a stream that comes in pieces, as it comes. */
export async function* inflateChunks(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* (await portable()).inflateChunks(pieces);
}

/** A file of its own in a bundle that is split: what hinders loading it, as service workers do, is no fault of the data. */
async function portable(): Promise<typeof import("./inflate-sync.js")> {
  try {
    return await import("./inflate-sync.js");
  } catch (cause) {
    throw new TensorjarError("io", `the inflater was not loaded: ${cause}`, {}, { cause });
  }
}
