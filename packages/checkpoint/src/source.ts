import type { ByteSource, SourceLike } from "@tensorjar/core";
import { toSource } from "@tensorjar/core/codec";

/** Runs `read` on a source, and closes one that was given as a promise: that one is ours. */
export async function withSource<T>(
  given: SourceLike,
  read: (source: ByteSource) => Promise<T>,
): Promise<T> {
  const source = await toSource(given);
  try {
    return await read(source);
  } finally {
    if ("then" in given) await source.close?.();
  }
}
