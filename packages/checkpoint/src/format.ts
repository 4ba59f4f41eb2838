import type { Bytes, Chunks, SourceLike, TensorInfo } from "@tensorjar/core";
import type { Json } from "./json.js";
import type { Snapshot, SnapshotOptions } from "./snapshot.js";
import type { TrainingState } from "./state.js";

export interface VerifyOptions {
  /** Whether checksums are compared (default). An `.npz` always is: its members carry their own. */
  verify?: boolean;
}

/** A container that holds a checkpoint. */
export interface CheckpointFormat {
  /** With its dot: `.safetensors`. */
  readonly extension: string;
  /** The file's bytes. A live state is copied before the call returns; a snapshot must not change while it is written. */
  chunks(state: TrainingState | Snapshot, options?: SnapshotOptions): Chunks | AsyncIterable<Bytes>;
  /** The whole checkpoint, verified. Closes a source that was given as a promise. */
  load(source: SourceLike, options?: VerifyOptions): Promise<Snapshot>;
  /** What the file holds, without its arrays. Closes a source that was given as a promise. */
  inspect(source: SourceLike): Promise<CheckpointSummary>;
  /** As `load`, keeping nothing. Where a format has none, `load` is used. */
  verify?(source: SourceLike): Promise<CheckpointSummary>;
}

/** What a checkpoint holds, told without reading its arrays. */
export interface CheckpointSummary {
  /** `"safetensors"` or `"npz"`. */
  readonly format: string;
  readonly version: number;
  readonly step: number;
  readonly config: Json;
  readonly params: ReadonlyMap<string, TensorInfo>;
  /** By name, in their order. */
  readonly optimizers: readonly string[];
  /** Of the file. */
  readonly byteLength: number;
  readonly metrics?: Readonly<Record<string, number>>;
}
