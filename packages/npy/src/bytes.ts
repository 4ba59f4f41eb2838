import type { Bytes } from "@tensorjar/core";
import { unfilled } from "@tensorjar/core/codec";

/** A copy in memory of its own. Throws `limit-exceeded`. */
export function cloneBytes(bytes: Uint8Array): Bytes {
  const copy = unfilled(bytes.length);
  copy.set(bytes);
  return copy;
}
