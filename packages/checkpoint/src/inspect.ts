import type { SourceLike } from "@tensorjar/core";
import type { CheckpointSummary } from "./format.js";
import { safetensorsCheckpoint, verifySafetensors } from "./safetensors-format.js";

/** What a checkpoint of either container holds, told by reading its header alone. Rejects as its format's `load` does. */
export function inspectCheckpoint(source: SourceLike): Promise<CheckpointSummary> {
  return safetensorsCheckpoint.inspect(source);
}

/**
 * Reads every byte of a checkpoint of either container and keeps none: resolves to what it holds when all of it is
 * whole, and rejects as its format's `load` does (`checksum-mismatch`, `truncated`, `invalid-checkpoint`…) when not.
 */
export function verifyCheckpoint(source: SourceLike): Promise<CheckpointSummary> {
  return verifySafetensors(source);
}
