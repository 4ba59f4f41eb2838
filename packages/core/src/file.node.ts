export { type FileSink, type FileSinkOptions, fileSink } from "./file-sink.node.js";
export { fileSource } from "./file-source.node.js";
