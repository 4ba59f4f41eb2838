/** What a container of .npy members is built from. */
export { checkDataSize, checkReadOptions, decodeData, type NpyReadOptions } from "./decode.js";
export { type NpyPieces, type NpyWriteOptions, npyPieces } from "./encode.js";
export {
  headerEnd,
  headerPrefixLength,
  type NpyHeaderOptions,
  type NpyLayout,
  readLayout,
} from "./header.js";
