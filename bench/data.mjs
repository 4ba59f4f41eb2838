// The files that are measured, made with the codecs themselves from numbers that a seed gives, where they are not yet.
import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { encodeNpy } from "@tensorjar/npy";
import { fileSink, writeNpz } from "@tensorjar/npz/node";
import { encodeSafetensorsHeader, writeSafetensors } from "@tensorjar/safetensors";

/** Numbers as weights have them: bell-shaped, every mantissa bit in use. */
export function weights(count, seed = 1) {
  const numbers = new Float32Array(count);
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  for (let i = 0; i < count; i++) numbers[i] = (next() + next() + next() - 1.5) * 0.1;
  return numbers;
}

const block = weights(4 << 20);

/** `byteLength` bytes of a repeated block of weights, in pieces. */
function* pieces(byteLength) {
  const bytes = new Uint8Array(block.buffer);
  for (let left = byteLength; left > 0; left -= bytes.length) {
    yield bytes.subarray(0, Math.min(left, bytes.length));
  }
}

/**
 * A model of `byteLength` bytes, its layers of 16 MiB: weights in float32, half as much in bfloat16, and norms of
 * 4 KiB; one tensor, `one`, has 1 MiB.
 */
export async function safetensorsFile(path, byteLength) {
  if (existsSync(path)) return;
  const layers = Math.max(1, Math.round(byteLength / (16 << 20)));
  const elements = Math.floor((byteLength - (1 << 20) - layers * 4096) / layers / 6 / 64) * 64;
  const producer = (name, dtype, shape, bytes) => ({
    name,
    dtype,
    shape,
    data: async function* () {
      yield* pieces(bytes);
    },
  });
  const model = [producer("one", "float32", [512, 512], 1 << 20)];
  for (let i = 0; i < layers; i++) {
    model.push(
      producer(`model.layers.${i}.mlp.weight`, "float32", [64, elements / 64], elements * 4),
      producer(`model.layers.${i}.attention.weight`, "bfloat16", [64, elements / 64], elements * 2),
      producer(`model.layers.${i}.norm.weight`, "float32", [1024], 4096),
    );
  }
  await writeSafetensors(fileSink(path, { durable: false }), model);
}

/** A model of float32 alone, in `count` tensors of one size. */
export async function plainSafetensorsFile(path, count, elements) {
  if (existsSync(path)) return;
  const model = Array.from({ length: count }, (_, i) => ({
    name: `layers.${i}.weight`,
    dtype: "float32",
    shape: [elements],
    data: async function* () {
      yield* pieces(elements * 4);
    },
  }));
  await writeSafetensors(fileSink(path, { durable: false }), model);
}

/** The header of a model of `count` small tensors, without their data. */
export function safetensorsHeader(count) {
  const infos = new Map();
  for (let i = 0; i < count; i++) {
    const name = `model.layers.${i >> 3}.self_attn.${"qkvo"[i & 3]}_proj.${i & 4 ? "weight" : "bias"}`;
    infos.set(name, { dtype: "float32", shape: [4, 4], begin: i * 64, end: (i + 1) * 64 });
  }
  return encodeSafetensorsHeader(infos);
}

/** An archive of `count` arrays of float32. */
export async function npzFile(path, count, elements, compression) {
  if (existsSync(path)) return;
  const arrays = Array.from({ length: count }, (_, i) => [
    `arr_${i}`,
    { dtype: "float32", shape: [elements], data: weights(elements, i + 1) },
  ]);
  await writeNpz(fileSink(path, { durable: false }), arrays, { compression });
}

/** A square-ish array of float32 as an .npy file; `descr` and `fortran` say how its bytes are to be read. */
export function npyFile(path, shape, { fortran = false, bigEndian = false } = {}) {
  if (existsSync(path)) return;
  const fd = openSync(path, "w");
  writeSync(fd, headerOf(shape, fortran, bigEndian));
  for (const piece of pieces(shape.reduce((a, b) => a * b, 4))) {
    for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at);
  }
  closeSync(fd);
}

function headerOf(shape, fortran, bigEndian) {
  const empty = encodeNpy({ dtype: "float32", shape: [0], data: new Float32Array() });
  const text = Buffer.from(empty.subarray(10)).toString("latin1");
  const wanted = text
    .replace("'<f4'", bigEndian ? "'>f4'" : "'<f4'")
    .replace("False", fortran ? "True" : "False")
    .replace(/\(.*\)/, `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`)
    .trimEnd()
    .padEnd(text.length - 1);
  return Buffer.concat([empty.subarray(0, 10), Buffer.from(`${wanted}\n`, "latin1")]);
}
