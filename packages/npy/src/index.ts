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
export { structField } from "./struct.js";
