/** What the facade is built from: writing without the readers. */
export { encodeCheckpoint } from "./safetensors-encode.js";
export { isSnapshot, takeSnapshot } from "./snapshot.js";
