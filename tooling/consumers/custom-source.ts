// Reads through a source of one's own: here a cache in front of another source.
import {
  type ByteSource,
  openNpz,
  openSafetensors,
  type TensorFile,
  TensorjarError,
} from "tensorjar";

export function cached(source: ByteSource, blockSize = 65536): ByteSource {
  const blocks = new Map<number, Promise<Uint8Array>>();
  const block = (index: number) => {
    const start = index * blockSize;
    const known = blocks.get(index) ?? source.read(start, Math.min(blockSize, source.size - start));
    blocks.set(index, known);
    return known;
  };
  return {
    size: source.size,
    async read(offset, length, { into = new Uint8Array(length), signal } = {}) {
      signal?.throwIfAborted();
      if (offset + length > source.size)
        throw new TensorjarError("truncated", "read past the end", { offset });
      for (let at = offset; at < offset + length; ) {
        const bytes = await block(Math.floor(at / blockSize));
        const part = bytes.subarray(at % blockSize, (at % blockSize) + offset + length - at);
        into.set(part, at - offset);
        at += part.length;
      }
      return into.subarray(0, length);
    },
    async close() {
      await source.close?.();
    },
  };
}

export async function shapes(source: ByteSource): Promise<(readonly number[])[]> {
  const file: TensorFile = await openSafetensors(cached(source));
  const infos = await Promise.all(file.names.map((name) => file.info(name)));
  await file.close();
  const archive = await openNpz(cached(source));
  for await (const [name, array] of archive.entries()) console.log(name, array.dtype, array.shape);
  return infos.map(({ shape }) => shape);
}
