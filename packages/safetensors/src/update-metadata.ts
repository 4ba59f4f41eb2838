import type { ByteSource, Bytes, Named, SinkLike, SourceLike } from "@tensorjar/core";
import { allocate, namedEntries, writeChunks } from "@tensorjar/core/codec";
import { encodeSafetensorsHeader } from "./encode-header.js";
import { isPromise, openHeader } from "./open-header.js";

/** Bytes of data copied at a time. */
const copied = 8 << 20;

/**
 * Writes the file of `source` to `sink` with other metadata: named texts replace the old ones, a function makes the
 * new from them. The data is copied in bounded memory; `sink` may be a `fileSink` on the very file that is read.
 * Rejects as {@link openSafetensors} does, with `invalid-argument` for metadata that is not text, and with what the
 * sink throws, which is then aborted.
 */
export async function updateSafetensorsMetadata(
  source: SourceLike,
  sink: SinkLike,
  metadata: Named<string> | ((old: Map<string, string>) => Map<string, string>),
): Promise<void> {
  const [opened, header] = await openHeader(source);
  const { tensors, dataOffset, size } = header;
  try {
    const texts =
      typeof metadata === "function" ? await metadata(new Map(header.metadata)) : metadata;
    const head = encodeSafetensorsHeader(tensors, new Map(namedEntries(texts, "metadata")));
    await writeChunks(sink, {
      byteLength: head.length + size - dataOffset,
      chunks: withHeader(head, opened, dataOffset, size),
    });
  } finally {
    if (isPromise(source)) await opened.close?.();
  }
}

async function* withHeader(
  header: Bytes,
  source: ByteSource,
  begin: number,
  end: number,
): AsyncGenerator<Bytes> {
  yield header;
  for (let at = begin; at < end; at += copied) {
    const into = allocate(Math.min(copied, end - at));
    await source.read(at, into.length, { into });
    yield into;
  }
}
