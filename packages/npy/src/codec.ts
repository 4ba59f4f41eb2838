/** What a container of .npy members is built from. */
export { swapBytes } from "#swap";

export {
  arrayShape,
  checkDataSize,
  checkOption,
  checkReadOptions,
  decodeData,
  type NpyReadOptions,
  voidDType,
} from "./decode.js";
export { swapSize } from "./descr.js";
export { type NpyPieces, type NpyWriteOptions, npyPieces } from "./encode.js";
export { fortranToC } from "./fortran.js";
export {
  headerEnd,
  headerPrefixLength,
  type NpyHeaderOptions,
  type NpyLayout,
  readLayout,
} from "./header.js";
export { otherFormat } from "./other-format.js";
export { decodeUtf8, latin1 } from "./text.js";
