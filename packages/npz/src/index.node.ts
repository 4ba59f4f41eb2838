export { type FileSinkOptions, fileSink, fileSource } from "@tensorjar/core/node";
export * from "./index.js";
