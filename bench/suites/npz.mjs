import { join } from "node:path";
import { page } from "../chromium.mjs";
import { node, numpy } from "../contestants.mjs";
import { npzFile } from "../data.mjs";

export default (scale, larger) => {
  const elementsOf = (compression) => ((compression === "stored" ? larger : scale) * 2 ** 24) / 4;
  const out = (folder) => (name) => join(folder, `${name}.npz`);
  return [
    ...["deflate", "stored"].flatMap((compression) => {
      const name = compression === "deflate" ? "deflated" : "stored";
      const prepare = async (folder) => {
        const path = join(folder, `${compression}.npz`);
        await npzFile(path, 16, elementsOf(compression), compression);
        return { path, out: out(folder) };
      };
      return [
        {
          title: `npz, ${name}: load 16 × 16 MiB`,
          prepare,
          contestants: ({ path }) => ({
            tensorjar: node("npz/load", { path }),
            NumPy: numpy("npz_load", { path }),
            fflate: node("peers/fflateUnzip", { path }),
            "numpy-ts": node("peers/numpyTsLoadNpz", { path }),
          }),
          rows: [
            { part: compression === "deflate" ? "8" : "10", by: "NumPy" },
            { part: `9 ${name}`, by: "fflate" },
            { by: "numpy-ts" },
          ],
        },
        {
          title: `npz, ${name}: write 16 × 16 MiB, not durable`,
          prepare,
          contestants: ({ path, out }) => ({
            tensorjar: node("npz/write", { path, out: out("a"), compression }),
            NumPy: numpy("npz_save", { path, out: out("b"), deflate: compression === "deflate" }),
            "numpy-ts": node("peers/numpyTsSaveNpz", {
              path,
              out: out("c"),
              compress: compression === "deflate",
            }),
          }),
          rows: [{ part: `11 ${name}`, by: "NumPy" }, { by: "numpy-ts" }],
          warmUps: 1,
        },
      ];
    }),
    {
      // npyz takes seconds for each MiB.
      title: "npz against npyz: load 4 stored arrays of 16 KiB",
      async prepare(folder) {
        const path = join(folder, "small.npz");
        await npzFile(path, 4, 2 ** 12, "stored");
        return { path };
      },
      contestants: (args) => ({
        tensorjar: node("npz/load", args),
        npyz: node("peers/npyz", args),
      }),
      rows: [{ by: "npyz" }],
    },
    {
      title: "npz in Chromium: load 64 MiB, deflated",
      async prepare(folder) {
        const path = join(folder, "page.npz");
        await npzFile(path, 4, elementsOf("deflate"), "deflate");
        return { path };
      },
      contestants: ({ path }) => ({
        tensorjar: page("ours", path),
        fflate: page("fflate", path),
      }),
      rows: [{ part: "19", by: "fflate" }],
    },
  ];
};
