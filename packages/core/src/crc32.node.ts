import * as zlib from "node:zlib";
import { crc32 as portable } from "./crc32.js";

// Missing on Node 20 before 20.15, and on other runtimes that offer the rest of node:zlib.
const native: ((bytes: Uint8Array, seed?: number) => number) | undefined = zlib.crc32;

/** Bytes given to zlib at once; it counts them in 32 bits. */
const piece = 1 << 30;

/** As the portable `crc32`, by zlib where it has it. */
export const crc32: (bytes: Uint8Array, seed?: number) => number =
  native === undefined
    ? portable
    : (bytes, seed = 0) => {
        let crc = seed;
        for (let at = 0; at < bytes.length; at += piece) {
          crc = native(bytes.subarray(at, at + piece), crc);
        }
        return crc;
      };
