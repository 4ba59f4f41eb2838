// Reads mutated .npy files: each is an array or refused with a TensorjarError, within 100 ms of processor time and with
// memory bounded by the file's length.
// node fuzz/npy.mjs [--count 100000] [--seed 1]; the packages must be built.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { options, random } from "./support/random.mjs";

const { count, seed } = options({ count: 100_000 });
const stream = random(seed);
const { below, pick } = stream;
const freeMemory = 1 << 20; // bytes; headers and 65,536 strings of width 0 need some

// Everything the codec allocates is a Uint8Array of a length, or an array of strings. It is loaded after this.
let allocated = 0;
globalThis.Uint8Array = new Proxy(Uint8Array, {
  construct(target, args, newTarget) {
    if (typeof args[0] === "number") allocated += args[0];
    return Reflect.construct(target, args, newTarget);
  },
});
const { decodeNpy, decodeNpySequence, encodeNpy, structField } = await import("@tensorjar/npy");
const { readAll } = await import("./support/outcomes.mjs");

const folder = new URL("../cases/npy/", import.meta.url);
const seeds = readdirSync(folder)
  .filter((file) => file.endsWith(".npy"))
  .sort()
  .map((file) => [...readFileSync(new URL(file, folder))])
  .filter((bytes) => bytes.length > 0 && bytes.length < 25_000);
const structure = [..."{}[]()'\",:\\# \n0123456789LTFNxo<>=|biufcSUVMmO-+._"].map((c) =>
  c.charCodeAt(0),
);
const tokens = [
  "(1,)",
  "'<f4'",
  "True",
  "None",
  "9007199254740991",
  "0x",
  "'''",
  "[('a', '<f4')]",
  "{}",
  "-1",
  "[[[[",
  "\\x4",
];

function mutated(original) {
  const bytes = [...original];
  for (let changes = 1 + below(3); changes > 0; changes--) {
    const at = below(6) === 0 ? below(10) : 10 + below(pick([64, 128, bytes.length]));
    const length = 1 + below(pick([2, 8, 64]));
    switch (below(9)) {
      case 0:
        bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
        break;
      case 1:
        bytes[at] = below(256);
        break;
      case 2:
      case 3:
        bytes[at] = pick(structure);
        break;
      case 4:
        bytes.splice(at, length);
        break;
      case 5:
        bytes.splice(at, 0, ...bytes.slice(at, at + length));
        break;
      case 6:
        bytes.splice(at, length, ...Buffer.from(pick(tokens)));
        break;
      case 7: {
        const other = pick(seeds);
        const from = below(other.length);
        bytes.splice(at, length, ...other.slice(from, from + length));
        break;
      }
      default:
        if (below(4) === 0) bytes.length = below(bytes.length + 1);
    }
  }
  return Uint8Array.from(bytes, (byte) => byte ?? 0);
}

const choices = [
  {},
  { trailing: "ignore" },
  { maxHeaderLength: 1_000_000, copy: true },
  { trailing: "ignore", fortranOrder: "reverse-shape", voidAs: "bfloat16" },
];

function check(array) {
  if (array.dtype === "struct") for (const { name } of array.fields) structField(array, name);
  if (array.dtype !== "string")
    assert.deepEqual(decodeNpy(encodeNpy(array, { asVoid: true })).shape, array.shape);
}

function read(bytes) {
  allocated = 0;
  try {
    if (below(8) === 0) for (const array of decodeNpySequence(bytes)) check(array);
    else check(decodeNpy(bytes, pick(choices)));
    return "read";
  } finally {
    const most = 16 * bytes.length + freeMemory;
    assert.ok(allocated <= most, `${allocated} bytes allocated for ${bytes.length}`);
  }
}

const plan = { count, stream, cpuLimit: 100_000 };
await readAll(".npy files", plan, () => mutated(pick(seeds)), read);
