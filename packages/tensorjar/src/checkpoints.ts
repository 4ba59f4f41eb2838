import {
  type CheckpointFormat,
  type Checkpoints,
  type CheckpointsOptions,
  npzCheckpoint,
  openCheckpoints as openStoreCheckpoints,
  type RestoreOptions,
  restoreSnapshot,
  type Snapshot,
  type Store,
  safetensorsCheckpoint,
  type TrainingState,
  type VerifyOptions,
} from "@tensorjar/checkpoint";
import type { ByteSource, SniffedFormat } from "@tensorjar/core";
import { folderStore } from "#platform";
import { isZip, openZip, sniffSource, unknownFormat } from "./formats.js";
import { type FacadeSource, isOurs, toFacadeSource, withPath } from "./source.js";

const formats: Partial<Record<SniffedFormat, CheckpointFormat>> = {
  safetensors: safetensorsCheckpoint,
  npz: npzCheckpoint,
  zip: npzCheckpoint,
  "pytorch-zip": npzCheckpoint,
};

/**
 * Loads a checkpoint into a frozen snapshot that owns its arrays; its container is told by its content.
 * Checksums are verified unless `verify` is false; a byte source that is given stays open. Rejects with `invalid-checkpoint`, `checksum-mismatch`,
 * `unsupported-version`, `not-this-format` and the codes of the codec.
 */
export async function loadCheckpoint(
  source: FacadeSource,
  options: VerifyOptions = {},
): Promise<Snapshot> {
  const bytes = await toFacadeSource(source);
  try {
    return await (await formatOf(bytes)).load(bytes, options);
  } catch (error) {
    throw withPath(error, source);
  } finally {
    if (isOurs(source)) await bytes.close?.();
  }
}

async function formatOf(source: ByteSource): Promise<CheckpointFormat> {
  const wanted = "a checkpoint (safetensors or .npz)";
  const { head, format } = await sniffSource(source);
  if (isZip(format)) await openZip(source, format, wanted);
  const found = formats[format];
  if (found === undefined) throw unknownFormat(head, wanted);
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
