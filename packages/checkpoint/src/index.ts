export {
  type ByteSource,
  type Bytes,
  type BytesLike,
  blobSource,
  bytesSource,
  type Chunks,
  type DType,
  httpSource,
  isTensorjarError,
  ofType,
  type SourceLike,
  type Tensor,
  type TensorInfo,
  TensorjarError,
  type TensorOf,
  tensor,
  toFloat32,
  toFloat64,
} from "@tensorjar/core";
export type { LeafAdapter, LoadReport } from "@tensorjar/tree";
export type { Checkpoints, CheckpointsOptions } from "./checkpoints.js";
export { type Difference, diffCheckpoints } from "./diff.js";
export type { CheckpointFormat, CheckpointSummary, VerifyOptions } from "./format.js";
export { inspectCheckpoint, verifyCheckpoint } from "./inspect.js";
export type { Json } from "./json.js";
export { openCheckpoints } from "./manager.js";
export { memoryStore } from "./memory-store.js";
export { npzCheckpoint } from "./npz-format.js";
export { opfsStore } from "./opfs-store.js";
export type { Skipped, Which } from "./recovery.js";
export { type RestoreOptions, restoreSnapshot } from "./restore.js";
export {
  type CheckpointInfo,
  keepAny,
  keepBest,
  keepEvery,
  keepLatest,
  type RetentionPolicy,
} from "./retention.js";
export { safetensorsCheckpoint } from "./safetensors-format.js";
export type { Saving } from "./saving.js";
export {
  type OptimizerSnapshot,
  type Snapshot,
  type SnapshotOptions,
  takeSnapshot,
} from "./snapshot.js";
export type { LiveOptimizer, Steps, TrainingState, Tree } from "./state.js";
export type { PutOptions, Store, StoreEntry, StoreLock } from "./store.js";
