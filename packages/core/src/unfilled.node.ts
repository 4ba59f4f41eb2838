import { Buffer } from "node:buffer";
import { allocate, type Bytes } from "./tensor.js";

/** Below, clearing memory costs nothing; above, the system gives it cleared. */
const clearedBelow = 64 << 10;
const clearedAbove = 32 << 20;

/** As the portable function, without clearing what may have been used before: measured, half of what a warm read takes. */
export function unfilled(length: number): Bytes {
  if (length >= clearedBelow && length <= clearedAbove) {
    try {
      const { buffer } = Buffer.allocUnsafeSlow(length);
      if (buffer.byteLength === length) return new Uint8Array(buffer);
    } catch {} // there is none: as below
  }
  return allocate(length);
}
