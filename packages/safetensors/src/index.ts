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
  type Named,
  ofType,
  type Progress,
  type ReadOptions,
  type SinkLike,
  type SourceLike,
  type Tensor,
  type TensorFile,
  type TensorInfo,
  TensorjarError,
  type TensorOf,
  tensor,
  toFloat32,
  toFloat64,
} from "@tensorjar/core";
export { decodeSafetensors, type SafetensorsReadOptions } from "./decode.js";
export { encodeSafetensors } from "./encode.js";
export { encodeSafetensorsHeader } from "./encode-header.js";
export { parseSafetensorsHeader, type SafetensorsHeader } from "./header.js";
export type { SafetensorsInfo } from "./header-parser.js";
export { openSafetensors, type SafetensorsFile } from "./open.js";
export type { SafetensorsOpenOptions } from "./open-header.js";
export { openShardedSafetensors } from "./open-shards.js";
export { type Selection, sliceByteRanges } from "./slice.js";
export { updateSafetensorsMetadata } from "./update-metadata.js";
export { safetensorsChunks, writeSafetensors } from "./write.js";
export type { SafetensorsWriteOptions, TensorEntries, TensorProducer } from "./write-plan.js";
export { type ShardedWriteOptions, writeShardedSafetensors } from "./write-shards.js";
