import type { Bytes } from "@tensorjar/core";
import { classTag } from "@tensorjar/core/codec";

/** The same bytes where `Blob`, `Response` and streams take them: only shared memory must be copied for that. */
export function unshared(bytes: Uint8Array): Bytes {
  return isUnshared(bytes) ? bytes : bytes.slice();
}

function isUnshared(bytes: Uint8Array): bytes is Bytes {
  return classTag(bytes.buffer) === "ArrayBuffer";
}
