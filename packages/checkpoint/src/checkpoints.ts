import type { LeafAdapter } from "@tensorjar/tree";
import type { CheckpointFormat } from "./format.js";
import type { Skipped, Which } from "./recovery.js";
import type { RestoreOptions } from "./restore.js";
import type { CheckpointInfo, RetentionPolicy } from "./retention.js";
import type { Saving } from "./saving.js";
import type { Snapshot, SnapshotOptions } from "./snapshot.js";
import type { TrainingState } from "./state.js";

export interface CheckpointsOptions {
  /** The container (default {@link safetensorsCheckpoint}). */
  format?: CheckpointFormat;
  /** What stays after a save (default `keepLatest(3)`). The newest, the one just saved and the one restored from always do. */
  keep?: RetentionPolicy;
  /** What `save` does while one is under way: queues, resolves as the one under way does, or rejects with `locked`. */
  onBusy?: "wait" | "skip" | "error";
  adapters?: readonly LeafAdapter[];
  statics?: "error" | "skip";
  names?: NonNullable<SnapshotOptions["names"]>;
  compression?: "stored" | "deflate";
}

/** The checkpoints of one run in a store: one file per step. */
export interface Checkpoints {
  /**
   * Saves in the background; resolves when the file is durable. The state is copied before the call returns, and may
   * change at once (with asynchronous adapters: once `snapshotted` resolves). A step that exists is replaced.
   * Awaiting `snapshotted` waits for the save before, so that a loop never runs ahead of the disk.
   * A failure that nobody awaited is thrown by the next call. Rejects with `locked` while another writer has the store.
   */
  save(state: TrainingState): Saving;
  /**
   * Restores the newest checkpoint that is whole, or the one asked for, into a live state, as `restoreSnapshot` does.
   * Resolves to `undefined` where there is none. `skipped` names newer ones that are damaged. Rejects with
   * `tree-mismatch`, `not-found` (that step, that metric), and `invalid-checkpoint` when none is whole.
   */
  restore(
    state: TrainingState,
    options?: RestoreOptions & { which?: Which },
  ): Promise<{ step: number; snapshot: Snapshot; skipped: readonly Skipped[] } | undefined>;
  /** As `restore`, without a live state. */
  load(which?: Which): Promise<{ snapshot: Snapshot; skipped: readonly Skipped[] } | undefined>;
  /** By step, the lowest first. */
  list(): Promise<readonly CheckpointInfo[]>;
  /** Reads all of the newest, or of the one asked for, and rejects when it is not whole; `not-found` where there is none. */
  verify(which?: Which): Promise<CheckpointInfo>;
  /** Resolves when every save made so far is durable. */
  flush(): Promise<void>;
  /** As `flush`, and gives the store free for another writer. */
  close(): Promise<void>;
}
