import { join } from "node:path";
import { node } from "../contestants.mjs";

export default (scale) => [
  {
    title: "tree: flatten and strictly load 100,000 leaves",
    prepare: async () => ({ leaves: Math.round(scale * 100_000) }),
    contestants: (args) => ({
      flatten: node("tree/flatten", args),
      "fill a Map": node("tree/fill", args),
      load: node("tree/load", args),
    }),
    rows: [
      { part: "17 flatten", of: "flatten", by: "fill a Map" },
      { part: "17 load", of: "load", by: "fill a Map" },
    ],
    warmUps: 3,
    warmMs: 300,
    pairs: 15,
  },
  {
    title: "checkpoint: until save() returns, 256 MiB",
    prepare: async (folder) => ({ folder: join(folder, "checkpoints"), bytes: scale * 2 ** 28 }),
    contestants: ({ folder, bytes }) => ({
      tensorjar: node("checkpoint/save", { folder, bytes }),
      // The arrays of the state, as save has to copy them. One call for all of the 256 MiB is other work: past three
      // quarters of the processor's cache the C library writes around the cache, in two thirds of the time.
      copy: node("raw/copy", { bytes, arrays: 48 }),
      "copy in one call": node("raw/copy", { bytes }),
    }),
    rows: [{ part: "18", by: "copy" }, { by: "copy in one call" }],
    warmUps: 3,
    warmMs: 300,
  },
];
