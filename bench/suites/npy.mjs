import { join } from "node:path";
import { node, numpy } from "../contestants.mjs";
import { npyFile } from "../data.mjs";

export default (scale, larger) => {
  const rows = scale * 65_536;
  const side = Math.sqrt(larger) * 8192;
  const prepared = (shape, options) => async (folder) => {
    const path = join(folder, `${[...shape, ...Object.keys(options ?? {})].join("-")}.npy`);
    npyFile(path, shape, options);
    return { path, out: (name) => join(folder, `${name}.npy`) };
  };
  const plain = prepared([rows, 1024]);
  return [
    {
      title: "npy: read 256 MiB, fresh processes",
      async prepare(folder) {
        const { path: first } = await prepared([1, 1])(folder);
        return { ...(await plain(folder)), first };
      },
      contestants: ({ path, first }) => ({
        tensorjar: node("npy/load", { path, first }, { fresh: true }),
        "raw read": node("raw/read", { path, first }, { fresh: true }),
        NumPy: numpy("npy_load", { path, first }, { fresh: true }),
        npyjs: node("peers/npyjsLoad", { path, first }, { fresh: true }),
        "numpy-ts": node("peers/numpyTsLoad", { path, first }, { fresh: true }),
      }),
      rows: [
        { part: "12 read", by: "raw read" },
        { by: "NumPy" },
        { by: "npyjs" },
        { by: "numpy-ts" },
      ],
    },
    {
      title: "npy: write 256 MiB, not durable",
      prepare: prepared([larger * 65_536, 1024]),
      contestants: ({ path, out }) => ({
        tensorjar: node("npy/write", { path, out: out("a") }),
        NumPy: numpy("npy_save", { path, out: out("b") }),
        npyjs: node("peers/npyjsDump", { path, out: out("c") }),
        "numpy-ts": node("peers/numpyTsSave", { path, out: out("d") }),
      }),
      rows: [{ part: "12 write", by: "NumPy" }, { by: "npyjs" }, { by: "numpy-ts" }],
    },
    {
      title: "npy: Fortran to C order, 8192 × 8192 float32",
      prepare: prepared([side, side], { fortran: true }),
      contestants: ({ path }) => ({
        tensorjar: node("npy/decode", { path }),
        NumPy: numpy("contiguous", { path }),
      }),
      rows: [{ part: "13", by: "NumPy" }],
    },
    {
      title: "npy: big-endian float32, 256 MiB",
      prepare: prepared([rows, 1024], { bigEndian: true }),
      contestants: ({ path }) => ({
        tensorjar: node("npy/decode", { path }),
        NumPy: numpy("byteswap", { path }),
      }),
      rows: [{ part: "14 Node", by: "NumPy" }],
    },
    {
      title: "npy: byte order turned in place without Node's Buffer, 256 MiB",
      prepare: async () => ({ bytes: scale * 2 ** 28 }),
      contestants: (args) => ({
        tensorjar: node("npy/swapPortable", args),
        copy: node("raw/copy", args),
      }),
      rows: [{ part: "14 portable", by: "copy" }],
    },
    {
      // npyz cannot read files of more than 64 KiB.
      title: "npy against npyz: read 16 KiB",
      prepare: prepared([64, 64]),
      contestants: ({ path }) => ({
        tensorjar: node("npy/load", { path }),
        npyz: node("peers/npyz", { path }),
      }),
      rows: [{ by: "npyz" }],
    },
  ];
};
