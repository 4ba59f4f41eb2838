import type { Bytes, Chunks } from "@tensorjar/core";
import { crc32InTurns, Turns, tensorBytes } from "@tensorjar/core/codec";
import { safetensorsChunks } from "@tensorjar/safetensors";
import { headSum, sumsText } from "./checksums.js";
import { headMetadata, namedTensors } from "./layout.js";
import { sortedNames } from "./order.js";
import { type Snapshot, type SnapshotOptions, toSnapshot } from "./snapshot.js";
import type { TrainingState } from "./state.js";
import { pieces } from "./turn.js";

/**
 * The file of a state or a snapshot. Its length and its header are fixed at once; the checksums, which stand in the
 * header, are summed when the first chunk is pulled, and take the place that was left for them.
 */
export function encodeCheckpoint(
  state: TrainingState | Snapshot,
  options: SnapshotOptions = {},
): Chunks {
  const snapshot = toSnapshot(state, options);
  const tensors = namedTensors(snapshot);
  const names = sortedNames(tensors.keys());
  const metadata = headMetadata(snapshot);
  const head = headSum(metadata, tensors, names);
  const blank = "0".repeat(8 * (names.length + 1));
  metadata.set("crc32", blank);
  const file = safetensorsChunks(tensors, { metadata, aliases: "copy" });
  return {
    byteLength: file.byteLength,
    chunks: { [Symbol.asyncIterator]: generate },
  };

  async function* generate(): AsyncGenerator<Bytes, void, undefined> {
    const turns = new Turns();
    const sums: number[] = [];
    for (const name of names) {
      const tensor = tensors.get(name);
      if (tensor !== undefined) sums.push(await crc32InTurns(tensorBytes(tensor), turns));
    }
    const text = new TextEncoder().encode(sumsText(head, sums));
    yield* pieces(overwritten(file.chunks, sumsOffset(snapshot.configText), text), turns);
  }
}

/** Where the checksums stand: keys are sorted, so only the configuration is before them. */
function sumsOffset(configText: string): number {
  const before = `{"__metadata__":{"config":${JSON.stringify(configText)},"crc32":"`;
  return 8 + new TextEncoder().encode(before).length;
}

/** The chunks of a file with the bytes from `offset` on replaced, in the memory of the chunks. */
async function* overwritten(
  chunks: AsyncIterable<Bytes>,
  offset: number,
  bytes: Uint8Array,
): AsyncGenerator<Bytes, void, undefined> {
  let at = 0;
  for await (const chunk of chunks) {
    const start = Math.max(offset, at);
    const end = Math.min(offset + bytes.length, at + chunk.length);
    if (start < end) chunk.set(bytes.subarray(start - offset, end - offset), start - at);
    at += chunk.length;
    yield chunk;
  }
}
