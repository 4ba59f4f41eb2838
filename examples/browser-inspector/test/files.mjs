// The files that the tests open, made by the packages themselves.
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import {
  cast,
  encodeSafetensorsHeader,
  fileSink,
  save,
  saveCheckpoint,
  tensor,
  writeSafetensors,
  writeShardedSafetensors,
} from "tensorjar";

/** Numbers that spread as those of a trained layer do, the same in every run. */
export function spread(length, scale = 0.05) {
  const values = new Float32Array(length);
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  for (let i = 0; i < length; i++) {
    values[i] = scale * (random() + random() + random() + random() - 2 + Math.sin(i / 97));
  }
  return values;
}

export const arrays = {
  "embed.weight": cast(tensor(spread(96 * 64), [96, 64]), "bfloat16"),
  "layers.0.attention.weight": tensor(spread(256 * 1024), [256, 1024]),
  "layers.0.attention.bias": tensor(spread(1024), [1024]),
  "layers.0.conv.weight": tensor(spread(8 * 3 * 20 * 30), [8, 3, 20, 30]),
  "layers.0.conv.damaged": tensor(
    Float32Array.of(1, Number.NaN, -2, Number.POSITIVE_INFINITY),
    [2, 2],
  ),
  "layers.0.mask": tensor(
    Uint8Array.from({ length: 64 }, (_, i) => i % 3 === 0),
    [8, 8],
    "bool",
  ),
  "tokens.ids": tensor(
    BigInt64Array.from({ length: 32 }, (_, i) => (i === 5 ? 9007199254740993n : BigInt(i))),
    [4, 8],
  ),
  "tokens.phases": tensor(Float32Array.of(3, 4, 0, 1, -1, 0, 2, 2), [2, 2], "complex64"),
  step: tensor(Float64Array.of(12.5), []),
};

export const manyTensors = 100_000;
export const hugeShape = [1024, 1536, 1024];

export async function writeFiles(folder) {
  const at = (name) => join(folder, name);
  await writeSafetensors(fileSink(at("model.safetensors")), arrays, {
    metadata: { format: "pt", note: "a made-up model\nwith two lines" },
  });
  const { "embed.weight": _, ...numpy } = arrays;
  await save(at("arrays.npz"), numpy, { compression: "deflate" });
  await save(at("matrix.npy"), arrays["layers.0.attention.weight"]);
  await saveCheckpoint(at("checkpoint.safetensors"), trainingState());
  await writeShardedSafetensors((name) => fileSink(at(name)), arrays, {
    maxShardBytes: 600_000,
    prefix: "sharded",
  });
  await writeMany(at("many.safetensors"));
  await writeHuge(at("huge.safetensors"));
}

/** Weights with Adam's moments after 700 updates. */
export function trainingState() {
  const shapes = { "encoder.weight": [64, 128], "encoder.bias": [64] };
  const tree = (scale) =>
    Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => [
        name,
        tensor(
          spread(
            shape.reduce((a, b) => a * b),
            scale,
          ).map((x) => (scale < 0.01 ? x * x : x)),
          shape,
        ),
      ]),
    );
  return {
    params: tree(0.05),
    optimizers: { adam: { step: 700, exp_avg: tree(0.02), exp_avg_sq: tree(0.005) } },
    step: 700,
    config: { lr: 0.001, layers: 2 },
    metrics: { loss: 0.125 },
  };
}

/** So many tensors that only those in sight can be in the page; each one zero. */
async function writeMany(path) {
  const infos = new Map();
  for (let i = 0; i < manyTensors; i++) {
    const name = `block.${String(i).padStart(5, "0")}.scale`;
    infos.set(name, { dtype: "float32", shape: [1], begin: 4 * i, end: 4 * i + 4 });
  }
  await writeSparse(path, encodeSafetensorsHeader(infos), 4 * manyTensors);
}

/** A file of 6 GiB, of which only the header and two rows take room on the disk. */
async function writeHuge(path) {
  const [, rows, columns] = hugeShape;
  const end = 4 * hugeShape.reduce((a, b) => a * b);
  const info = { dtype: "float32", shape: hugeShape, begin: 0, end };
  const header = encodeSafetensorsHeader(new Map([["huge.weight", info]]));
  await writeSparse(path, header, end, [
    [0, spread(columns)],
    [4 * columns * (512 * rows + 768), spread(columns, 1)],
  ]);
}

/** Writes a file of zeros but for the header and the arrays at their offsets from the data's start. */
async function writeSparse(path, header, dataLength, parts = []) {
  const file = await openFile(path, "w");
  await file.write(header);
  for (const [offset, { buffer }] of parts) {
    await file.write(new Uint8Array(buffer), 0, buffer.byteLength, header.length + offset);
  }
  await file.truncate(header.length + dataLength);
  await file.close();
}
