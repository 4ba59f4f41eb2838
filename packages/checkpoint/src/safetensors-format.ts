import { byteLength, type SourceLike, type Tensor, type TensorInfo } from "@tensorjar/core";
import { crc32InTurns, Turns, tensorBytes } from "@tensorjar/core/codec";
import { openSafetensors, type SafetensorsFile } from "@tensorjar/safetensors";
import { assemble, checkNames, type Head, readHead, readVersion } from "./assemble.js";
import { statedSums } from "./checksums.js";
import type { CheckpointFormat, CheckpointSummary } from "./format.js";
import { encodeCheckpoint } from "./safetensors-encode.js";
import { withSource } from "./source.js";

/**
 * Checkpoints as safetensors files that any safetensors reader opens, with a CRC-32 of the header and of every tensor.
 * Holds every dtype but complex128, and any optimizer.
 */
export const safetensorsCheckpoint: CheckpointFormat = {
  extension: ".safetensors",
  chunks: encodeCheckpoint,
  load: (source, { verify = true } = {}) =>
    withSource(source, async (bytes) => {
      const file = await openSafetensors(bytes);
      const { head, sums } = readFile(file, verify);
      const tensors = new Map<string, Tensor>();
      const turns = new Turns();
      for await (const [name, tensor] of file.entries()) {
        sums?.check(name, await crc32InTurns(tensorBytes(tensor), turns));
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
      for await (const chunk of file.chunks(name)) sum = await crc32InTurns(chunk, turns, sum);
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
