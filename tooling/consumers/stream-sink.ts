// Writes into a `WritableStream`, and into a sink made of one.
import { type SinkLike, save, type Tensor, writeNpz, writeSafetensors } from "tensorjar";

function hashing(
  stream: WritableStream<Uint8Array>,
  update: (chunk: Uint8Array) => void,
): SinkLike {
  const writer = stream.getWriter();
  return {
    async write(chunk) {
      update(chunk);
      await writer.write(chunk);
    },
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  };
}

export async function download(
  handle: FileSystemFileHandle,
  tensors: ReadonlyMap<string, Tensor>,
  signal: AbortSignal,
): Promise<void> {
  await writeSafetensors(await handle.createWritable(), [...tensors]);
  await writeNpz(
    hashing(new TransformStream<Uint8Array, Uint8Array>().writable, () => {}),
    [...tensors],
  );
  await save(await handle.createWritable(), { tensors }, { format: "npz", signal });
}
