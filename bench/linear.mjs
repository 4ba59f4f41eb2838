// Whether cost grows linearly: the same job at 1/16, 1/4 and 1 of its size.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { interleave, node } from "./contestants.mjs";
import { npyFile, npzFile, safetensorsFile, safetensorsHeader } from "./data.mjs";
import { median } from "./numbers.mjs";

const sizes = [1 / 16, 1 / 4, 1];

const jobs = [
  {
    title: "safetensors, load 1 GiB",
    fresh: true,
    async contestant(folder, size) {
      const path = join(folder, `model-${size}.safetensors`);
      await safetensorsFile(path, size * 2 ** 30);
      return node("safetensors/load", { path }, { fresh: true });
    },
  },
  {
    title: "safetensors, write 1 GiB, durable",
    async contestant(folder, size) {
      const path = join(folder, `model-${size}.safetensors`);
      await safetensorsFile(path, size * 2 ** 30);
      return node("safetensors/write", { path, out: `${path}.out` });
    },
  },
  ...[
    ["safetensors, header of 100,000 tensors", "safetensors/header"],
    ["the same by TextDecoder and JSON.parse", "raw/json"],
  ].map(([title, job]) => ({
    title,
    async contestant(folder, size) {
      const path = join(folder, `header-${size}`);
      writeFileSync(path, safetensorsHeader(Math.round(size * 100_000)));
      return node(job, { path });
    },
  })),
  {
    title: "safetensors, write 100,000 tensors of 1 KiB",
    contestant: async (folder, size) =>
      node("safetensors/writeSmall", {
        out: join(folder, `small-${size}`),
        count: Math.round(size * 100_000),
      }),
  },
  ...["deflate", "stored"].map((compression) => ({
    title: `npz, load 16 × 16 MiB, ${compression}`,
    async contestant(folder, size) {
      const path = join(folder, `${compression}-${size}.npz`);
      await npzFile(path, 16, size * 2 ** 22, compression);
      return node("npz/load", { path });
    },
  })),
  {
    title: "npz, load 100,000 stored arrays of 64 bytes",
    async contestant(folder, size) {
      const path = join(folder, `many-${size}.npz`);
      await npzFile(path, Math.round(size * 100_000), 16, "stored");
      return node("npz/load", { path });
    },
  },
  {
    title: "npy, read 256 MiB",
    async contestant(folder, size) {
      const path = join(folder, `array-${size}.npy`);
      npyFile(path, [size * 65_536, 1024]);
      return node("npy/load", { path }, { fresh: true });
    },
  },
  {
    title: "npy, Fortran to C order, 8192 × 8192",
    async contestant(folder, size) {
      const path = join(folder, `fortran-${size}.npy`);
      npyFile(path, [size * 8192, 8192], { fortran: true });
      return node("npy/decode", { path });
    },
  },
  {
    title: "tree, flatten 100,000 leaves",
    contestant: async (_, size) => node("tree/flatten", { leaves: Math.round(size * 100_000) }),
  },
  {
    title: "tree, strict load of 100,000 leaves",
    contestant: async (_, size) => node("tree/load", { leaves: Math.round(size * 100_000) }),
  },
];

/** Rows `{ title, ms: [one per size], growth }`: growth is the cost per byte at the full size ÷ that at a quarter. */
export async function growth(folder, { pairs, warmUps }) {
  const rows = [];
  for (const { title, contestant } of jobs) {
    const contestants = {};
    for (const size of sizes) contestants[size] = await contestant(folder, size);
    const samples = await interleave(contestants, { pairs, warmUps });
    const ms = sizes.map((size) => median(samples[size].map((sample) => sample.ms)));
    rows.push({ title, ms, growth: ms[2] / ms[1] / 4 });
  }
  return rows;
}
