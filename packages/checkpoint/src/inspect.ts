import type { ByteSource, SourceLike } from "@tensorjar/core";
import { sniff } from "@tensorjar/core";
import { openNpz } from "@tensorjar/npz";
import type { CheckpointFormat, CheckpointSummary } from "./format.js";
import { npzCheckpoint, verifyNpz } from "./npz-format.js";
import { safetensorsCheckpoint, verifySafetensors } from "./safetensors-format.js";
import { withSource } from "./source.js";

/** What a checkpoint of either container holds, told by reading its header alone. Rejects as its format's `load` does. */
export function inspectCheckpoint(source: SourceLike): Promise<CheckpointSummary> {
  return withSource(source, async (bytes) => (await formatOf(bytes)).inspect(bytes));
}

/**
 * Reads every byte of a checkpoint of either container and keeps none: resolves to what it holds when all of it is
 * whole, and rejects as its format's `load` does (`checksum-mismatch`, `truncated`, `invalid-checkpoint`…) when not.
 */
export function verifyCheckpoint(source: SourceLike): Promise<CheckpointSummary> {
  return withSource(source, async (bytes) =>
    (await isZip(bytes)) ? verifyNpz(bytes) : verifySafetensors(bytes),
  );
}

/** What is neither container is left to the safetensors reader, which says what it is instead. */
export async function formatOf(source: ByteSource): Promise<CheckpointFormat> {
  return (await isZip(source)) ? npzCheckpoint : safetensorsCheckpoint;
}

async function isZip(source: ByteSource): Promise<boolean> {
  const format = sniff(await source.read(0, Math.min(source.size, 4096)));
  if (format !== "pytorch-zip") return format === "npz" || format === "zip";
  // Its first member is called like PyTorch's; whether it is ours, the others tell.
  const file = await openNpz(source).catch(() => undefined); // what is wrong is told by whoever reads it
  return file !== undefined && file.names.length > 0;
}
