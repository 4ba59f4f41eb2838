export { fileSink, fileSource } from "@tensorjar/core/node";
export { folderStore } from "./folder-store.node.js";
export * from "./index.js";
