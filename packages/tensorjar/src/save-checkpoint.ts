import type {
  CheckpointFormat,
  Snapshot,
  SnapshotOptions,
  TrainingState,
} from "@tensorjar/checkpoint";
import { encodeCheckpoint, isSnapshot, takeSnapshot } from "@tensorjar/checkpoint/codec";
import { type Chunks, TensorjarError } from "@tensorjar/core";
import { describe } from "@tensorjar/core/codec";
import { type Target, targetName, writeTarget } from "./target.js";

/**
 * Saves the whole state of a training run, or a snapshot, as one file: `.npz` by that extension or `format`,
 * safetensors otherwise. The state is copied before this returns, so training may go on at once; adapters must read
 * at once for that, those that read asynchronously are for {@link openCheckpoints}. A path is written atomically.
 */
export async function saveCheckpoint(
  target: Target,
  state: TrainingState | Snapshot,
  options: SnapshotOptions & { format?: CheckpointFormat } = {},
): Promise<void> {
  const { format, ...rest } = options;
  await writeTarget(target, await checkpointChunks(target, state, rest, format));
}

/** Copies the state before the first `await`. The NPZ container is loaded only where it is asked for. */
async function checkpointChunks(
  target: Target,
  state: TrainingState | Snapshot,
  options: SnapshotOptions,
  format: CheckpointFormat | undefined,
): Promise<Chunks> {
  if (format === undefined && !/\.npz$/i.test(targetName(target) ?? "")) {
    return encodeCheckpoint(state, options);
  }
  if (format !== undefined) checkFormat(format);
  const snapshot = isSnapshot(state) ? state : takeSnapshot(state, options);
  const container = format ?? (await import("@tensorjar/checkpoint/npz")).npzCheckpoint;
  const file = container.chunks(snapshot, options);
  return isChunks(file) ? file : { byteLength: Number.NaN, chunks: file };
}

function checkFormat(format: unknown): void {
  if (typeof Reflect.get(Object(format), "chunks") === "function") return;
  throw new TensorjarError("invalid-argument", `format is ${describe(format)}`, {
    name: "format",
    hint: "give safetensorsCheckpoint or npzCheckpoint",
  });
}

function isChunks(chunks: ReturnType<CheckpointFormat["chunks"]>): chunks is Chunks {
  return "byteLength" in chunks;
}
