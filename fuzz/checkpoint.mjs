// Changes checkpoints of both schemas, in their bytes and in what their containers hold, and restores each: it fits, or
// is refused with a TensorjarError and leaves the state as it was.
// node fuzz/checkpoint.mjs [--count 50000] [--seed 1]; the packages must be built.
import { readdirSync, readFileSync } from "node:fs";
import {
  decodeNpz,
  decodeSafetensors,
  encodeNpz,
  encodeSafetensors,
  isTensorjarError,
  loadCheckpoint,
  restoreSnapshot,
} from "tensorjar";
import { readAll } from "./support/outcomes.mjs";
import { options, random } from "./support/random.mjs";

const { count, seed } = options({ count: 50_000 });
const stream = random(seed);
const { below, pick } = stream;

const folders = ["checkpoint", "checkpoint-golden"].map(
  (name) => new URL(`../cases/${name}/`, import.meta.url),
);
const files = folders.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => /\.(npz|safetensors)$/.test(name))
    .sort()
    .map((name) => new Uint8Array(readFileSync(new URL(name, folder)))),
);
const small = files.filter((bytes) => bytes.length > 0 && bytes.length < 20_000);

/** What containers hold, to be changed and written again with sums and offsets that fit. */
const contents = [];
for (const bytes of small) {
  try {
    const isZip = bytes[0] === 0x50;
    const { tensors, metadata } = isZip
      ? { tensors: decodeNpz(bytes), metadata: undefined }
      : decodeSafetensors(bytes);
    contents.push({ isZip, tensors, metadata });
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
  }
}

/** A live state of the form of a snapshot, filled with nines. */
function liveState({ params, optimizers, extra }) {
  const tree = (tensors) => {
    const leaves = new Map();
    for (const [path, { dtype, shape, data }] of tensors) {
      const own = data.slice();
      own.fill(own instanceof BigInt64Array || own instanceof BigUint64Array ? 9n : 9);
      leaves.set(path, { dtype, shape, data: own });
    }
    return leaves;
  };
  const live = { params: tree(params), optimizers: {}, step: 99, extra: tree(extra) };
  for (const [name, { step, slots }] of optimizers) {
    const fields = {
      step:
        typeof step === "number"
          ? 99
          : Object.fromEntries([...step.keys()].map((key) => [key, 99])),
    };
    for (const [slot, tensors] of slots) fields[slot] = tree(tensors);
    live.optimizers[name] = fields;
  }
  return live;
}

const snapshots = [];
for (const bytes of small) {
  try {
    snapshots.push(await loadCheckpoint(bytes));
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
  }
}

function mutatedBytes() {
  const bytes = pick(small).slice();
  for (let changes = 1 + below(3); changes > 0; changes--)
    bytes[below(bytes.length)] ^= 1 << below(8);
  return below(8) === 0 ? bytes.subarray(0, below(bytes.length)) : bytes;
}

const nameParts = [
  "param___",
  "optimizer___",
  "___",
  "step",
  "exp_avg",
  "default",
  "param/",
  "optimizer/",
  "/",
  "extra/",
  ".",
  "__proto__",
  "_",
  "a",
];
const texts = [
  "0",
  "1",
  "2",
  "-1",
  "1e3",
  "9007199254740993",
  "",
  "null",
  "[]",
  '{"a":NaN}',
  '[{"name":"adam"}]',
  "[[]]",
  "tensorjar-checkpoint",
];

function changedName(name) {
  const at = below(name.length + 1);
  const kind = below(3);
  if (kind === 0) return name.slice(0, at) + pick(nameParts) + name.slice(at);
  return kind === 1
    ? name.slice(0, at) + name.slice(at + 1 + below(4))
    : pick(nameParts) + pick(nameParts);
}

function changedTensor(tensor) {
  const { dtype, shape, data } = tensor;
  switch (below(3)) {
    case 0:
      return {
        dtype: "int64",
        shape: [],
        data: BigInt64Array.of(pick([0n, 1n, -1n, 2n ** 53n, 7n])),
      };
    case 1:
      return { dtype, shape: [1, ...shape], data };
    default:
      return { dtype: "float32", shape: [2], data: new Float32Array(2) };
  }
}

/** A container that is whole and holds something else; bytes of its own, or nothing where it cannot be written. */
function changedContent() {
  const { isZip, tensors, metadata } = pick(contents);
  const entries = [...tensors].flatMap(([name, tensor]) => {
    if (below(6) > 0) return [[name, tensor]];
    const kind = below(3);
    if (kind === 0) return [];
    return [kind === 1 ? [changedName(name), tensor] : [name, changedTensor(tensor)]];
  });
  const keys =
    metadata &&
    new Map([...metadata].map(([key, value]) => [key, below(5) === 0 ? pick(texts) : value]));
  try {
    return isZip
      ? encodeNpz(entries)
      : encodeSafetensors(entries, { metadata: keys, aliases: "copy" });
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    return undefined;
  }
}

const text = (state) =>
  JSON.stringify(state, (_, value) => {
    if (value instanceof Map) return [...value];
    if (ArrayBuffer.isView(value))
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex");
    return value;
  });

const change = () => (below(2) === 0 ? mutatedBytes() : changedContent());

await readAll("changed checkpoints", { count, stream }, change, async (bytes) => {
  if (bytes === undefined) return "cannot be written";
  const snapshot = await loadCheckpoint(bytes, { verify: below(2) === 0 });
  const state = liveState(below(2) === 0 ? snapshot : pick(snapshots));
  const untouched = text(state);
  try {
    restoreSnapshot(snapshot, state, {
      shape: pick(["exact", "any"]),
      mode: pick(["strict", "partial"]),
    });
  } catch (error) {
    if (text(state) !== untouched)
      throw new Error("a failed restore changed the state", { cause: error });
    throw error;
  }
  return "restored";
});
