export {
  type ByteSource,
  type Bytes,
  type BytesLike,
  blobSource,
  bytesSource,
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
export { isTensor, type NpyArray, type NpyHeader, type NpyReadOptions } from "@tensorjar/npy";
export { decodeNpz } from "./decode.js";
export type { NpzMember } from "./directory.js";
export { encodeNpz, type NpzWriteOptions } from "./encode.js";
export { type NpzFile, openNpz } from "./open.js";
export type { NpzReadOptions } from "./select.js";
export { type NpzArrays, npzChunks, writeNpz } from "./write.js";
