// Conversions of numbers, into arrays that are there already, as NumPy is asked to do them too.
import { readFileSync } from "node:fs";
import { cast, tensor, zeros } from "@tensorjar/core";
import { readFloat32 } from "../../packages/core/dist/read-numbers.js";
import { storeFloat32 } from "../../packages/core/dist/store-numbers.js";

function numbersOf(path, count) {
  const bytes = new Uint8Array(readFileSync(path));
  return new Float32Array(bytes.buffer, 0, count);
}

export function toFloat32({ path, source, count }) {
  const given = cast(tensor(numbersOf(path, count)), source);
  const out = new Float32Array(count);
  return { run: () => readFloat32(given, 0, out) };
}

export function fromFloat32({ path, target, count }) {
  const numbers = numbersOf(path, count);
  const made = zeros([count], target);
  return { run: () => storeFloat32(made, 0, numbers) };
}
