/** The NPZ container alone, for programs that load it only when they need it. */
export { npzCheckpoint } from "./npz-format.js";
