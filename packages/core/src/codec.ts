/** What codecs are built from; for packages that read or write one more container. */

export { crc32 } from "#crc32";
export { unfilled } from "#unfilled";
export { abortable } from "./abort.js";
export { castEach } from "./cast-each.js";
export { compareNames } from "./compare-names.js";
export { dataConstructor, isCount, isDType, nativeDType, shapeText } from "./dtype.js";
export { classTag, describe, quote } from "./error.js";
export { errorWithoutSecrets, textWithoutSecrets } from "./http-url.js";
export { inOrder, type OrderedTask } from "./in-order.js";
export { checkName, namedEntries } from "./named.js";
export { toSink, type WriteOptions, writeChunks } from "./sink.js";
export { notThisFormat } from "./sniff.js";
export {
  checkRange,
  isBlob,
  isByteSource,
  memoryFor,
  readParts,
  readsParts,
  toSource,
} from "./source.js";
export {
  allocate,
  checkTensor,
  isBytesLike,
  tensorBytes,
  tensorFromBytes,
  toBytes,
} from "./tensor.js";
export { crc32InTurns, nextTurn, pieceBytes, Turns } from "./turn.js";
