import { join } from "node:path";
import { node } from "../contestants.mjs";

export default (scale, larger) => [
  {
    title: "tree: flatten and strictly load 100,000 leaves",
    prepare: async () => ({ leaves: Math.round(scale * 100_000) }),
    contestants: (args) => ({
      flatten: node("tree/flatten", args),
      "fill a Map": node("tree/fill", args),
      load: node("tree/load", args),
      "flatten a tree never seen": node("tree/flattenOnce", args),
    }),
    rows: [
      { part: "17 flatten", of: "flatten", by: "fill a Map" },
      { part: "17 load", of: "load", by: "fill a Map" },
      { of: "flatten a tree never seen", by: "fill a Map" },
    ],
    warmUps: 3,
    warmMs: 300,
    pairs: 31,
  },
  {
    title: "checkpoint: until save() returns, 256 MiB",
    prepare: async (folder) => ({ folder: join(folder, "checkpoints"), bytes: larger * 2 ** 28 }),
    contestants: ({ folder, bytes }) => ({
      tensorjar: node("checkpoint/save", { folder, bytes }),
      copy: node("checkpoint/copy", { bytes }),
    }),
    rows: [{ part: "18", by: "copy" }],
    warmUps: 3,
    warmMs: 300,
  },
];
