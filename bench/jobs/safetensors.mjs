import { readFileSync, rmSync } from "node:fs";
import {
  decodeSafetensors,
  fileSink,
  fileSource,
  openSafetensors,
  parseSafetensorsHeader,
  writeSafetensors,
} from "@tensorjar/safetensors/node";

async function all(path) {
  const file = await openSafetensors(fileSource(path));
  const tensors = await file.getAll();
  await file.close();
  return tensors;
}

export const load = ({ path }) => ({ run: () => all(path) });

export const one = ({ path, name }) => ({
  async run() {
    const file = await openSafetensors(fileSource(path));
    const tensor = await file.get(name);
    await file.close();
    return tensor;
  },
});

export async function write({ path, out }) {
  const tensors = await all(path);
  return {
    after: () => rmSync(out, { force: true }),
    run: () => writeSafetensors(fileSink(out), tensors),
  };
}

/** As Python does it: without waiting for the disk. */
export function writeSmall({ out, count }) {
  const tensors = new Map();
  for (let i = 0; i < count; i++) {
    const data = Float32Array.from({ length: 256 }, (_, at) => i * 256 + at);
    tensors.set(`layers.${i}.weight`, { dtype: "float32", shape: [256], data });
  }
  return {
    after: () => rmSync(out, { force: true }),
    run: () => writeSafetensors(fileSink(out, { durable: false }), tensors),
  };
}

export function header({ path }) {
  const bytes = new Uint8Array(readFileSync(path));
  return { run: () => parseSafetensorsHeader(bytes) };
}

export const decode = ({ path }) => {
  const bytes = new Uint8Array(readFileSync(path));
  return { run: () => decodeSafetensors(bytes) };
};
