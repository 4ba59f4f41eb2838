import {
  byteLength,
  isTensor,
  type SourceLike,
  type Tensor,
  type TensorInfo,
} from "@tensorjar/core";
import { type NpyArray, type NpzFile, npzChunks, openNpz } from "@tensorjar/npz";
import type { CheckpointFormat, CheckpointSummary } from "./format.js";
import { assemble, checkVersion, Faults, readHead } from "./npz-assemble.js";
import { headNames, npzEntries, npzPlace } from "./npz-names.js";
import { type Snapshot, toSnapshot } from "./snapshot.js";
import { withSource } from "./source.js";
import { pieces } from "./turn.js";

/**
 * Checkpoints as the gsplat gem writes them, version 1: an archive of arrays that `np.load` opens, with Adam's moments.
 * Stored, the bytes are the gem's own. Holds no metrics, hyperparameters and other slots, and seven dtypes
 * (`unsupported`); names are letters, digits and underscores (`invalid-name`): give `names` for others.
 */
export const npzCheckpoint: CheckpointFormat = {
  extension: ".npz",
  chunks(state, options = {}) {
    const entries = npzEntries(toSnapshot(state, options), options.names);
    const { compression = "stored" } = options;
    return pieces(npzChunks(entries, { profile: "gsplat", compression }));
  },
  load: (source) =>
    withSource(source, async (bytes) => {
      const file = await openNpz(bytes);
      await checkVersion(file);
      // All members, not only those called .npy: a damaged name must not make one disappear.
      return assemble(await file.getAll());
    }),
  inspect: (source) =>
    withSource(source, async (bytes) => {
      const file = await openNpz(bytes);
      await checkVersion(file);
      const faults = new Faults();
      const head = readHead(await file.getAll(headOf(file)), faults);
      faults.throwAny();
      const params = new Map<string, TensorInfo>();
      for (const name of file.names) {
        const place = npzPlace(name);
        if (place.kind === "param") params.set(place.path, await file.info(name));
      }
      return { ...summaryHead(head, bytes.size), params, optimizers: optimizersOf(file.names) };
    }),
  verify: verifyNpz,
};

/** Reads every member, and keeps of the arrays what they are, not what is in them. */
export function verifyNpz(source: SourceLike): Promise<CheckpointSummary> {
  return withSource(source, async (bytes) => {
    const file = await openNpz(bytes);
    await checkVersion(file);
    const arrays = new Map<string, NpyArray>();
    for await (const [name, array] of file.entries()) {
      const place = npzPlace(name);
      const read = place.kind === "head" || (place.kind === "state" && place.field === "step");
      arrays.set(name, read || !isTensor(array) ? array : emptied(array));
    }
    const snapshot = assemble(arrays);
    const params = new Map<string, TensorInfo>();
    for (const [path, { dtype, shape }] of snapshot.params) {
      params.set(path, { dtype, shape, byteLength: byteLength(dtype, shape) });
    }
    const optimizers = [...snapshot.optimizers.keys()];
    return { ...summaryHead(snapshot, bytes.size), params, optimizers };
  });
}

function emptied(tensor: Tensor): Tensor {
  return { ...tensor, data: tensor.data.subarray(0, 0) } as Tensor; // of the same class
}

function summaryHead(
  { version, step, config }: Pick<Snapshot, "version" | "step" | "config">,
  size: number,
): Pick<CheckpointSummary, "format" | "version" | "step" | "config" | "byteLength"> {
  return { format: "npz", version, step, config, byteLength: size };
}

function headOf(file: NpzFile): string[] {
  return Object.values(headNames).filter((name) => file.names.includes(name));
}

function optimizersOf(names: readonly string[]): string[] {
  const found = names.map(npzPlace).flatMap((p) => (p.kind === "state" ? [p.optimizer] : []));
  return [...new Set(found)];
}
