export { cast } from "./cast.js";
export { toFloat32, toFloat64 } from "./convert.js";
export { tensor, zeros } from "./create.js";
export {
  byteLength,
  type DataMap,
  type DType,
  type DTypeInfo,
  type DTypeKind,
  dtypeInfo,
  elementCount,
} from "./dtype.js";
export {
  type ErrorCode,
  type ErrorDetails,
  isTensorjarError,
  type Problem,
  TensorjarError,
} from "./error.js";
export { asFloat16Array, type Float16ArrayLike } from "./float16-array.js";
export { type HttpSourceOptions, httpSource } from "./http-source.js";
export type { Named } from "./named.js";
export { type Nested, toNested } from "./nested.js";
export { type ReadChunksOptions, readChunks } from "./read-chunks.js";
export type { Sink, SinkLike, StreamSink } from "./sink.js";
export { type SniffedFormat, sniff } from "./sniff.js";
export {
  type ByteSource,
  blobSource,
  bytesSource,
  type SourceLike,
  type SourceReadOptions,
} from "./source.js";
export {
  type AnyArray,
  type Bytes,
  type BytesLike,
  isTensor,
  ofType,
  type Tensor,
  type TensorOf,
} from "./tensor.js";
export type {
  AnyTensor,
  Chunks,
  Progress,
  ReadOptions,
  TensorFile,
  TensorInfo,
} from "./tensor-file.js";
