import type { Bytes } from "@tensorjar/core";

/**
 * The same bytes where `Blob`, `Response` and streams take them: for that, memory that is shared or can change its size
 * must be copied.
 */
export function unshared(bytes: Uint8Array): Bytes {
  return isUnshared(bytes) ? bytes : bytes.slice();
}

function isUnshared(bytes: Uint8Array): bytes is Bytes {
  return Object(bytes.buffer).resizable === false; // shared memory has no such property, nor has any in an old engine
}
