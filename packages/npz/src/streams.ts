/** Bytes given to an inflater or a deflater at once: at most 66 MiB come out before an inflater can be stopped. */
export const piece: number = 64 << 10;

interface Transform {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<BufferSource>;
}

/** The engine's own stream for raw deflate, where it has one. */
export function native(kind: "CompressionStream" | "DecompressionStream"): Transform | undefined {
  try {
    return new globalThis[kind]("deflate-raw");
  } catch {
    return undefined;
  }
}

/** Feeds a stream piece by piece and gives what comes out of it. */
export async function* through(
  stream: Transform,
  pieces: readonly Uint8Array[],
): AsyncGenerator<Uint8Array> {
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  const feed = async (): Promise<void> => {
    for (const data of pieces) {
      for (let at = 0; at < data.length; at += piece) {
        await writer.write(data.slice(at, at + piece)); // a view of shared or resizable memory is refused
      }
    }
    await writer.close();
  };
  feed().catch(() => {}); // the reader fails with the same reason
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
