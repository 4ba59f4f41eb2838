import type { Store } from "@tensorjar/checkpoint";
import { type Chunks, type Progress, type SinkLike, TensorjarError } from "@tensorjar/core";
import { describe, writeChunks } from "@tensorjar/core/codec";
import { fileSink } from "#platform";

/** Where the facade writes: a path (replaced atomically), a sink or `WritableStream`, or a name in a store. */
export type Target = string | SinkLike | { store: Store; name: string };

/** The name that tells a target's format, where it has one. Throws `invalid-argument` for a URL. */
export function targetName(target: Target): string | undefined {
  refuseUrl(target);
  if (typeof target === "string") return target;
  return isStoreTarget(target) ? target.name : undefined;
}

function isStoreTarget(target: Target): target is { store: Store; name: string } {
  return typeof target === "object" && target !== null && "store" in target;
}

/** Not quoted: it may hold a password or a signature. */
function refuseUrl(target: unknown): void {
  if (target instanceof URL || (typeof target === "string" && /^https?:/i.test(target)))
    throw wrongTarget("a URL", "write to a path, then upload the file");
}

/** Writes all of `chunks`, or nothing. */
export async function writeTarget(
  target: Target,
  chunks: Chunks,
  options: { signal?: AbortSignal; onProgress?: (progress: Progress) => void } = {},
): Promise<void> {
  refuseUrl(target);
  if (typeof target === "string")
    return writeChunks(fileSink(target), chunks, { ...options, name: target });
  if (!isStoreTarget(target)) return writeChunks(target, chunks, options);
  const { store, name } = target;
  const put: unknown = store?.put;
  if (typeof put !== "function")
    throw wrongTarget(describe(target), "the store has no method `put`");
  const { onProgress, signal } = options;
  const counted = onProgress === undefined ? chunks.chunks : count(chunks, name, onProgress);
  await store.put(name, counted, {
    ...(Number.isNaN(chunks.byteLength) ? {} : { size: chunks.byteLength }),
    ...(signal === undefined ? {} : { signal }),
  });
}

function wrongTarget(got: string, hint: string): TensorjarError {
  return new TensorjarError(
    "invalid-argument",
    `expected a path, a sink or { store, name }, got ${got}`,
    { hint },
  );
}

async function* count(
  chunks: Chunks,
  name: string,
  onProgress: (progress: Progress) => void,
): AsyncGenerator<Uint8Array> {
  let loaded = 0;
  for await (const chunk of chunks.chunks) {
    yield chunk;
    loaded += chunk.length;
    onProgress({ loaded, total: chunks.byteLength, name });
  }
}
