import {
  type CheckpointFormat,
  type Checkpoints,
  type CheckpointsOptions,
  npzCheckpoint,
  openCheckpoints as openStoreCheckpoints,
  type RestoreOptions,
  restoreSnapshot,
  type Snapshot,
  type SnapshotOptions,
  type Store,
  safetensorsCheckpoint,
  type TrainingState,
  type VerifyOptions,
} from "@tensorjar/checkpoint";
import type { ByteSource, Chunks, SniffedFormat } from "@tensorjar/core";
import { folderStore } from "#platform";
import { sniffSource, unknownFormat } from "./formats.js";
import { type FacadeSource, toFacadeSource } from "./source.js";
import { type Target, targetName, writeTarget } from "./target.js";

const formats: Partial<Record<SniffedFormat, CheckpointFormat>> = {
  safetensors: safetensorsCheckpoint,
  npz: npzCheckpoint,
  zip: npzCheckpoint,
};

/**
 * Saves the whole state of a training run, or a snapshot, as one file: `.npz` by that extension or `format`,
 * safetensors otherwise. The state is copied before this returns, so training may go on at once.
 * A path is written atomically.
 */
export async function saveCheckpoint(
  target: Target,
  state: TrainingState | Snapshot,
  options: SnapshotOptions & { format?: CheckpointFormat } = {},
): Promise<void> {
  const {
    format = /\.npz$/i.test(targetName(target) ?? "") ? npzCheckpoint : safetensorsCheckpoint,
    ...rest
  } = options;
  const chunks = format.chunks(state, rest);
  await writeTarget(target, isChunks(chunks) ? chunks : { byteLength: Number.NaN, chunks });
}

function isChunks(chunks: ReturnType<CheckpointFormat["chunks"]>): chunks is Chunks {
  return "byteLength" in chunks;
}

/**
 * Loads a checkpoint into a frozen snapshot that owns its arrays; its container is told by its content.
 * Checksums are verified unless `verify` is false. Rejects with `invalid-checkpoint`, `checksum-mismatch`,
 * `unsupported-version`, `not-this-format` and the codes of the codec.
 */
export async function loadCheckpoint(
  source: FacadeSource,
  options: VerifyOptions = {},
): Promise<Snapshot> {
  const bytes = await toFacadeSource(source);
  try {
    return await (await formatOf(bytes)).load(bytes, options);
  } finally {
    if (bytes !== source) await bytes.close?.();
  }
}

async function formatOf(source: ByteSource): Promise<CheckpointFormat> {
  const { head, format } = await sniffSource(source);
  const found = formats[format];
  if (found === undefined) throw unknownFormat(head, "a checkpoint (safetensors or .npz)");
  return found;
}

/**
 * Restores a checkpoint into a live training state, in place: parameters, moments, steps. All or nothing: whatever
 * does not fit is one `tree-mismatch` error that lists every problem, and the state is as it was.
 */
export async function restoreCheckpoint(
  source: FacadeSource,
  state: TrainingState,
  options: RestoreOptions = {},
): Promise<Snapshot> {
  const { verify } = options;
  const snapshot = await loadCheckpoint(source, verify === undefined ? {} : { verify });
  restoreSnapshot(snapshot, state, options);
  return snapshot;
}

/** Opens the checkpoints of a training run: in the folder at a path, made when it is not there, or in a store. */
export function openCheckpoints(
  where: string | Store,
  options: CheckpointsOptions = {},
): Checkpoints {
  return openStoreCheckpoints(typeof where === "string" ? folderStore(where) : where, options);
}
