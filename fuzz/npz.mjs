// Mutates small archives and reads each by decodeNpz and by openNpz: both read the same or refuse it with the same
// TensorjarError, in time, and every archive that is read can be written and read again.
// node fuzz/npz.mjs [--count 100000] [--seed 1]; the packages must be built.
import assert from "node:assert/strict";
import { decodeNpz, encodeNpz, isTensorjarError, openNpz, tensor } from "@tensorjar/npz";
import { strToU8, zipSync } from "fflate";
import { readAll } from "./support/outcomes.mjs";
import { options, random } from "./support/random.mjs";

const { count, seed } = options({ count: 100_000 });
const stream = random(seed);
const { below, pick } = stream;

const arrays = {
  w: tensor(Float32Array.of(1, 2, 3)),
  "layers/0": tensor(new Uint8Array(3000), [3, 1000]),
  text: { dtype: "string", shape: [1], data: ["größe"], itemLength: 6 },
};
const plain = encodeNpz({ a: arrays.w }, { align: 1 });
const seeds = [
  encodeNpz(arrays),
  encodeNpz(arrays, { compression: "deflate" }),
  encodeNpz(arrays, { profile: "gsplat" }),
  encodeNpz({}),
  zipSync(
    { "a.npy": plain.subarray(35, 35 + 140), "dir/README": strToU8("hello") },
    { level: 9, comment: "PK\x05\x06" },
  ),
];
const words = [
  0, 1, 0xff, 0xffff, 0xffffffff, 0x04034b50, 0x02014b50, 0x06054b50, 0x06064b50, 0x07064b50,
  0x80000000,
];

function mutated(bytes) {
  let out = bytes.slice();
  for (let changes = 1 + below(4); changes > 0; changes--) {
    // Headers stand at both ends.
    const reach = pick([out.length, 64, 256]);
    const near = below(Math.min(reach, out.length) || 1);
    const at = below(2) === 0 ? near : out.length - 1 - near;
    const kind = below(8);
    if (kind < 3) out[at] ^= 1 << below(8);
    else if (kind === 3) out[at] = below(256);
    else if (kind === 4 && at + 4 <= out.length)
      new DataView(out.buffer).setUint32(at, pick(words), true);
    else if (kind === 5) out = out.slice(0, at);
    else {
      const length = 1 + below(40);
      const part =
        kind === 6
          ? out.slice(at + length)
          : new Uint8Array([...out.slice(at, at + length), ...out.slice(at)]);
      out = new Uint8Array([...out.slice(0, at), ...part]);
    }
  }
  return out;
}

/** What reading comes to: the arrays, or the error. */
async function resultOf(reading) {
  try {
    return { arrays: await reading() };
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    return { error };
  }
}

async function read(bytes) {
  const { arrays, error } = await resultOf(() => decodeNpz(bytes));
  const opened = await resultOf(async () => (await openNpz(bytes)).getAll());
  assert.deepEqual(opened.arrays, arrays, "openNpz reads other arrays than decodeNpz");
  assert.equal(opened.error?.message, error?.message, "openNpz finds another fault than decodeNpz");
  assert.deepEqual(opened.error?.details, error?.details);
  if (error !== undefined) throw error;
  const names = [...arrays.keys()].filter(
    (name) => name !== "" && !/^\/|\\|(^|\/)\.\.(\/|$)/.test(name),
  );
  const again = decodeNpz(encodeNpz(names.map((name) => [name, arrays.get(name)])));
  assert.deepEqual([...again.keys()], names, "a round trip changed the names");
  return "read";
}

await readAll("archives", { count, stream }, () => mutated(pick(seeds)), read);
