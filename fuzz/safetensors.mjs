// Mutates small safetensors files and shard indexes and reads each by decodeSafetensors, openSafetensors and
// openShardedSafetensors: it is read, alike by all, or refused with a TensorjarError, in time.
// node fuzz/safetensors.mjs [--count 200000] [--seed 1]; the packages must be built.
import {
  decodeSafetensors,
  encodeSafetensors,
  isTensorjarError,
  openSafetensors,
  openShardedSafetensors,
  parseSafetensorsHeader,
  tensor,
} from "@tensorjar/safetensors";
import { readAll } from "./support/outcomes.mjs";
import { options, random } from "./support/random.mjs";

const { count, seed } = options({ count: 200_000 });
const stream = random(seed);
const { below, pick } = stream;

const utf8 = new TextEncoder();
function fileOf(header, length) {
  const text = utf8.encode(header);
  const file = new Uint8Array(8 + text.length + length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  return file;
}

const seeds = [
  encodeSafetensors(
    { w: tensor(Float32Array.of(1, 2, 3)), "läyer.0": tensor(new Uint8Array(6), [2, 3]) },
    { metadata: { format: "pt", note: 'a "quoted" \\ text' } },
  ),
  encodeSafetensors({ a: tensor(3n, [], "int64"), b: tensor(new Float64Array(0), [0, 5]) }),
  fileOf(
    '{ "__metadata__" : null, "b" : {"shape":[2,1],"x":[1e5,{"y":[null,true,"\\ud83d\\ude00"]}],"dtype":"F4","data_offsets":[1,2]},"a":{"dtype":"I8","shape":[],"data_offsets":[0,1]}}\r\n ',
    2,
  ),
  encodeSafetensors({}),
];
const index = utf8.encode(
  '{"metadata":{"total_size":12,"tied":"w"},"weight_map":{"w":"model-00001-of-00002.safetensors","v":"b%20c"}}',
);
const words = [
  '"',
  "\\",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "0",
  "-",
  ".",
  "e9",
  " ",
  "\0",
  "\\ud800",
  "null",
  "é",
  "😀",
];
const tokens = [
  ...words.map((word) => utf8.encode(word)),
  Uint8Array.of(0xff),
  Uint8Array.of(0xed, 0xa0, 0x80),
];

function mutated(seed) {
  let bytes = seed.slice();
  for (let changes = 1 + below(4); changes > 0; changes--) {
    const at = below(bytes.length + 1);
    switch (below(6)) {
      case 0:
        if (at < bytes.length) bytes[at] ^= 1 << below(8);
        break;
      case 1:
        bytes = bytes.slice(0, at);
        break;
      case 2:
        bytes = joined(bytes.subarray(0, at), bytes.subarray(at + 1 + below(4)));
        break;
      case 3:
        bytes = joined(bytes.subarray(0, at), bytes.subarray(below(at + 1)));
        break;
      default:
        bytes = joined(bytes.subarray(0, at), pick(tokens), bytes.subarray(at + below(2)));
    }
    // Half of the time the length fits, so that what is inside is looked at.
    if (below(2) === 0 && bytes.length >= 8) {
      const length = below(3) === 0 ? below(bytes.length) : bytes.length - 8 - below(20);
      new DataView(bytes.buffer).setBigUint64(0, BigInt(Math.max(0, length)), true);
    }
  }
  return bytes;
}

function joined(...parts) {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** A text of everything that was read, or the code of a TensorjarError. */
async function outcome(read) {
  try {
    const { tensors, metadata } = await read();
    const all = [...tensors].map(([name, { dtype, shape, data }]) => [
      name,
      dtype,
      shape,
      `${data}`,
    ]);
    return JSON.stringify([all, [...metadata]]);
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    return error.code;
  }
}

let sharded = false;
function change() {
  sharded = below(8) === 0;
  return mutated(sharded ? index : pick(seeds));
}

async function readShards(bytes) {
  const file = await openShardedSafetensors(bytes, () => seeds[0]);
  const tensors = new Map();
  for await (const [name, one] of file.entries()) tensors.set(name, one);
  return { tensors, metadata: file.metadata };
}

async function readOpened(bytes) {
  const file = await openSafetensors(bytes);
  return { tensors: await file.getAll(), metadata: file.metadata };
}

await readAll("safetensors files and indexes", { count, stream }, change, async (bytes) => {
  const result = await outcome(() => (sharded ? readShards(bytes) : decodeSafetensors(bytes)));
  if (!sharded) {
    const opened = await outcome(() => readOpened(bytes));
    if (opened !== result) throw new Error(`decoded: ${result}; opened: ${opened}`);
  }
  if (!result.startsWith("[")) return result;
  if (!sharded) {
    const { tensors, metadata } = decodeSafetensors(bytes);
    const again = await outcome(() =>
      decodeSafetensors(encodeSafetensors(tensors, { metadata, aliases: "copy" })),
    );
    if (!again.startsWith("[")) throw new Error(`written again: ${again}`);
    if (parseSafetensorsHeader(bytes).size !== bytes.length) throw new Error("a size that is not");
  }
  return "read";
});
