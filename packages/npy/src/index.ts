export {
  type ByteSource,
  type Bytes,
  type BytesLike,
  blobSource,
  bytesSource,
  type Chunks,
  type DType,
  httpSource,
  isTensor,
  isTensorjarError,
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
export type {
  NpyArray,
  NpyBytes,
  NpyDatetimes,
  NpyStrings,
  NpyStruct,
  NpyVoid,
} from "./array.js";
export {
  decodeNpy,
  decodeNpySequence,
  type NpyDecodeOptions,
  type NpyReadOptions,
} from "./decode.js";
export type { StructField } from "./descr.js";
export { encodeNpy, type NpyWriteOptions } from "./encode.js";
export { type NpyHeader, type NpyHeaderOptions, parseNpyHeader } from "./header.js";
export { type NpyFile, openNpy } from "./open.js";
export { structField } from "./struct.js";
export { npyChunks, writeNpy } from "./write.js";
export { createNpyWriter, type NpyWriter } from "./writer.js";
