import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { node, numpy } from "../contestants.mjs";
import { plainSafetensorsFile, safetensorsFile, safetensorsHeader } from "../data.mjs";
import { median } from "../numbers.mjs";

const peakOf = (runs) => median(runs.map(({ peak }) => peak));

export default (scale) => {
  const payload = scale * 2 ** 30;
  const small = Math.round(scale * 32_768);
  const tensors = Math.round(scale * 100_000);
  const count = 64;
  const elements = (scale * 2 ** 28) / 4 / count;
  const model = async (folder) => {
    const path = join(folder, "model.safetensors");
    await safetensorsFile(path, payload);
    return { path };
  };
  const manySmall = async (folder) => {
    const path = join(folder, "small.safetensors");
    await plainSafetensorsFile(path, tensors, 16);
    return { path };
  };
  return [
    {
      title: "safetensors: load all of 1 GiB, fresh processes",
      async prepare(folder) {
        const first = join(folder, "first.safetensors");
        await plainSafetensorsFile(first, 1, 1);
        return { ...(await model(folder)), first };
      },
      contestants: (args) => ({
        tensorjar: node("safetensors/load", args, { fresh: true }),
        "raw read": node("raw/read", args, { fresh: true }),
        Python: numpy("safetensors_load", args, { fresh: true }),
        "bare Node": node("raw/bare", {}, { fresh: true }),
      }),
      rows: [
        { part: "1", by: "raw read" },
        { part: "2", by: "Python" },
      ],
      figures: (samples) => ({
        3: ((peakOf(samples.tensorjar) - peakOf(samples["bare Node"])) * 1024) / payload,
      }),
    },
    {
      title: "safetensors: load all of 1 GiB, warm processes",
      prepare: model,
      contestants: ({ path }) => ({
        tensorjar: node("safetensors/load", { path }),
        "raw read": node("raw/read", { path }),
        Python: numpy("safetensors_load", { path }),
      }),
      rows: [{ by: "raw read" }, { by: "Python" }],
    },
    {
      title: "safetensors: one tensor of 1 MiB out of 1 GiB, first call of fresh processes",
      prepare: async (folder) => ({ ...(await model(folder)), name: "one" }),
      contestants: (args) => ({
        tensorjar: node("safetensors/one", args, { fresh: true }),
        Python: numpy("safetensors_one", args, { fresh: true }),
      }),
      rows: [{ part: "4", by: "Python" }],
      pairs: 15,
    },
    {
      title: "safetensors: write 1 GiB, durable",
      prepare: async (folder) => ({ ...(await model(folder)), out: (name) => join(folder, name) }),
      contestants: ({ path, out }) => ({
        tensorjar: node("safetensors/write", { path, out: out("a") }),
        "raw write": node("raw/write", { path, out: out("b") }),
      }),
      rows: [{ part: "5", by: "raw write" }],
      warmUps: 1,
    },
    {
      title: "safetensors: write 32,768 tensors of 1 KiB, not durable",
      prepare: async (folder) => ({ out: (name) => join(folder, name), count: small }),
      contestants: ({ out, count }) => ({
        tensorjar: node("safetensors/writeSmall", { out: out("a"), count }),
        Python: numpy("safetensors_save", { out: out("b"), count }),
      }),
      rows: [{ part: "6", by: "Python" }],
    },
    ...[20, 24].map((major) => ({
      title: `safetensors: header of 100,000 tensors, Node ${major}`,
      async prepare(folder) {
        const path = join(folder, "header");
        writeFileSync(path, safetensorsHeader(tensors));
        return { path };
      },
      contestants: (args) => ({
        tensorjar: node("safetensors/header", args, { major }),
        "JSON.parse": node("raw/json", args, { major }),
      }),
      rows: [{ part: `7 Node ${major}`, by: "JSON.parse" }],
      warmUps: 3,
      warmMs: 300,
      pairs: 15,
    })),
    {
      title: "safetensors against peers: load 256 MiB of float32",
      async prepare(folder) {
        const path = join(folder, "plain.safetensors");
        await plainSafetensorsFile(path, count, elements);
        return { path, count, elements };
      },
      contestants: (args) => ({
        tensorjar: node("safetensors/load", args, { fresh: true }),
        "@jax-js/loaders": node("peers/jaxLoad", args, { fresh: true }),
        "TensorFlow.js": node("peers/tensorflow", args, { fresh: true }),
      }),
      rows: [{ by: "@jax-js/loaders" }, { by: "TensorFlow.js" }],
    },
    {
      title: "safetensors against peers: 100,000 tensors, views of bytes",
      prepare: manySmall,
      contestants: (args) => ({
        tensorjar: node("safetensors/decode", args),
        "@jax-js/loaders": node("peers/jaxParse", args),
      }),
      rows: [{ by: "@jax-js/loaders" }],
      warmMs: 300,
    },
    {
      title: "safetensors against peers: header of 100,000 tensors over HTTP, answered from memory",
      prepare: manySmall,
      contestants: (args) => ({
        tensorjar: node("peers/ourHubHeader", args),
        "@huggingface/hub": node("peers/hubHeader", args),
      }),
      rows: [{ by: "@huggingface/hub" }],
      warmMs: 300,
    },
  ];
};
