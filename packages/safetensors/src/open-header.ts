import type { ByteSource, SourceLike } from "@tensorjar/core";
import { allocate, toSource } from "@tensorjar/core/codec";
import type { SafetensorsReadOptions } from "./decode.js";
import { checkSize, dataStart, readHeader, type SafetensorsHeader } from "./header.js";

/** Bytes of the first read: most headers are shorter. */
const firstRead = 64 << 10;

export type SafetensorsOpenOptions = Pick<SafetensorsReadOptions, "trailing" | "maxHeaderLength">;

/**
 * The header of a source, checked whole, with at most two reads. When it fails, a source that was given as a promise
 * is closed.
 */
export async function openHeader(
  source: SourceLike,
  { trailing, maxHeaderLength }: SafetensorsOpenOptions = {},
): Promise<readonly [ByteSource, SafetensorsHeader]> {
  const opened = await toSource(source);
  try {
    const { size } = opened;
    let head = await opened.read(0, Math.min(size, firstRead));
    const start = dataStart(head, size, maxHeaderLength);
    if (start > head.length) {
      const whole = allocate(start);
      whole.set(head);
      whole.set(await opened.read(head.length, start - head.length), head.length);
      head = whole;
    }
    const header = readHeader(head.subarray(0, start));
    checkSize(header, size, trailing);
    return [opened, header];
  } catch (error) {
    if (isPromise(source)) await opened.close?.().catch(() => {}); // what went wrong first is what counts
    throw error;
  }
}

/** Whether a source was given as a promise, so that it is the callee's to close. */
export function isPromise(source: SourceLike): boolean {
  return "then" in Object(source);
}
