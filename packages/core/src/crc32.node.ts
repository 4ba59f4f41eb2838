import * as zlib from "node:zlib";
import { crc32 as portable } from "./crc32.js";
import { vectorCrc32 } from "./crc32-vector.js";

// Missing on Node 20 before 20.15, and on other runtimes that offer the rest of node:zlib.
const native: ((bytes: Uint8Array, seed?: number) => number) | undefined = zlib.crc32;

/** zlib starts again where no bytes have no address: Node 20 and 22. */
const sum: typeof portable =
  native === undefined
    ? portable
    : (bytes, seed = 0) => (bytes.length === 0 ? seed : native(bytes, seed));

const { bun, deno } = process.versions;

/** As the portable `crc32`: by zlib where it has it, and by vectors on Node, whose zlib uses none. */
export const crc32: typeof portable =
  bun === undefined && deno === undefined ? vectorCrc32(sum) : sum;
