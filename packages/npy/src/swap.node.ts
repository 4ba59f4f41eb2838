import { Buffer } from "node:buffer";

/** As the portable `swapBytes`, by the processor's instruction for it. */
export function swapBytes(bytes: Uint8Array, unit: number): void {
  const whole = bytes.length - (bytes.length % unit);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, whole);
  if (unit === 2) buffer.swap16();
  else if (unit === 4) buffer.swap32();
  else buffer.swap64();
}
