import { pipeline, Readable } from "node:stream";
import * as zlib from "node:zlib";
import type { DeflateLevel } from "./deflate.js";
import { split } from "./zlib.node.js";

export { type DeflateLevel, deflateSync } from "./deflate.js";

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
