import type { Bytes, Chunks, SourceLike, Tensor, TensorInfo } from "@tensorjar/core";
import { byteLength } from "@tensorjar/core";
import { tensorBytes } from "@tensorjar/core/codec";
import { openSafetensors, type SafetensorsFile, safetensorsChunks } from "@tensorjar/safetensors";
import { headSum, statedSums, sumsText, tensorSum } from "./checksums.js";
import type { CheckpointFormat, CheckpointSummary } from "./format.js";
import {
  assemble,
  checkNames,
  type Head,
  headMetadata,
  namedTensors,
  readHead,
  readVersion,
} from "./layout.js";
import { sortedNames } from "./order.js";
import { type Snapshot, toSnapshot } from "./snapshot.js";
import { withSource } from "./source.js";
import { pieces, Turns } from "./turn.js";

/**
 * Checkpoints as safetensors files that any safetensors reader opens, with a CRC-32 of the header and of every tensor.
 * Holds every dtype but complex128, and any optimizer.
 */
export const safetensorsCheckpoint: CheckpointFormat = {
  extension: ".safetensors",
  chunks: (state, options = {}) => encode(toSnapshot(state, options)),
  load: (source, { verify = true } = {}) =>
    withSource(source, async (bytes) => {
      const file = await openSafetensors(bytes);
      const { head, sums } = readFile(file, verify);
      const tensors = new Map<string, Tensor>();
      const turns = new Turns();
      for await (const [name, tensor] of file.entries()) {
        sums?.check(name, await tensorSum(tensorBytes(tensor), turns));
        tensors.set(name, tensor);
      }
      return assemble(head, tensors);
    }),
  inspect: (source) =>
    withSource(source, async (bytes) => {
      const file = await openSafetensors(bytes);
      return summary(file, readFile(file, true).head, bytes.size);
    }),
  verify: verifySafetensors,
};

export function verifySafetensors(source: SourceLike): Promise<CheckpointSummary> {
  return withSource(source, async (bytes) => {
    const file = await openSafetensors(bytes);
    const { head, sums } = readFile(file, true);
    const turns = new Turns();
    for (const name of file.names) {
      let sum = 0;
      for await (const chunk of file.chunks(name)) sum = await tensorSum(chunk, turns, sum);
      sums?.check(name, sum);
    }
    return summary(file, head, bytes.size);
  });
}

/** The version comes first (another may mean another scheme), then the checksum of the rest of the header. */
function readFile(
  file: SafetensorsFile,
  verify: boolean,
): { head: Head; sums?: ReturnType<typeof statedSums> } {
  readVersion(file.metadata);
  const sums = verify ? statedSums(file.metadata, file.tensors) : undefined;
  const head = readHead(file.metadata);
  checkNames(head, file.tensors);
  return sums === undefined ? { head } : { head, sums };
}

function summary(file: SafetensorsFile, head: Head, size: number): CheckpointSummary {
  const params = new Map<string, TensorInfo>();
  for (const [name, { dtype, shape }] of file.tensors) {
    if (!name.startsWith("param/")) continue;
    params.set(name.slice(6), { dtype, shape, byteLength: byteLength(dtype, shape) });
  }
  return {
    format: "safetensors",
    version: head.version,
    step: head.step,
    config: head.config,
    params,
    optimizers: head.optimizers.map(({ name }) => name),
    byteLength: size,
    ...(head.metrics === undefined ? {} : { metrics: head.metrics }),
  };
}

/**
 * The file of a snapshot. Its length and its header are fixed at once; the checksums, which stand in the header,
 * are summed when the first chunk is pulled, and take the place that was left for them.
 */
function encode(snapshot: Snapshot): Chunks {
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
      if (tensor !== undefined) sums.push(await tensorSum(tensorBytes(tensor), turns));
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
