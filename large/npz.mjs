// Streams one member of over 4 GiB out and in, stored and deflated; reads one member of a 5 GiB file and of a 3 GiB Blob
// and counts the reads.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import { blobSource, npzChunks, openNpz, tensor, writeNpz } from "@tensorjar/npz";
import { fileSink, fileSource } from "@tensorjar/npz/node";
import { counted } from "./support/counted.mjs";
import { folder } from "./support/folder.mjs";

const GiB = 2 ** 30;

/** Marks where counts of 31, 32 and 33 bits end; the rest is zeros, which take no memory until they are written to. */
function marked(length) {
  const data = new Float32Array(length);
  for (const at of marksOf(length)) data[at] = at + 1;
  return data;
}

function marksOf(length) {
  return [0, GiB / 2 - 1, GiB / 2, GiB - 2, GiB, GiB + 17, length - 1].filter((at) => at < length);
}

/** Compares the chunks of a member with what `marked` made. */
async function checkChunks(file, name, length) {
  const marks = new Map(marksOf(length).map((at) => [at, Math.fround(at + 1)]));
  let at = 0;
  let found = 0;
  for await (const chunk of file.chunks(name)) {
    assert(chunk.length <= 64 << 20, "chunks are small");
    for (const [mark, value] of marks) {
      const inside = 4 * mark - at;
      if (inside < 0 || inside + 4 > chunk.length) continue;
      assert.equal(
        new DataView(chunk.buffer, chunk.byteOffset + inside).getFloat32(0, true),
        value,
      );
      found++;
    }
    at += chunk.length;
  }
  assert.equal(at, 4 * length);
  assert(found >= marks.size - 1, "the marks are there"); // a chunk may end within one
}

function viewsOver4GiB() {
  try {
    return new Uint8Array(5 * GiB).length > 0;
  } catch {
    return false;
  }
}

async function checkReads(source, name, expected) {
  const file = await openNpz(source);
  assert.deepEqual((await file.get(name)).data, expected);
  const own = file.members.find((member) => member.name === `${name}.npy`).compressedSize;
  const lengths = source.reads.map(([, length]) => length);
  const small = lengths.filter((length) => length <= 65 << 10 && length !== own - 128);
  assert(small.length <= 3, `${small.length} small reads`);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  assert(total < own + 70_000, `${total} bytes were read for ${own}`);
  console.log(`one member of ${source.size} bytes: reads of ${lengths.join(", ")} bytes`);
  return file;
}

// 5 GiB of float32, or 4 GiB and a member behind them where the engine has no larger view.
const length = viewsOver4GiB() ? GiB + GiB / 4 + 3 : GiB - 1;
console.log(`the large member has ${4 * length} bytes`);
const small = Float32Array.from({ length: 50_000 }, (_, i) => i);
let big = marked(length);

const stored = join(folder, "stored.npz");
const arrays = [
  ["first", tensor(small)],
  ["big", tensor(big)],
  ["filler", tensor(new Uint8Array(GiB))],
  ["last", tensor(small)],
];
await writeNpz(fileSink(stored), arrays);
console.log(`stored: ${fs.statSync(stored).size} bytes`);
const file = await checkReads(counted(await fileSource(stored)), "last", small);
await checkChunks(file, "big", length);
await file.close();
fs.rmSync(stored);

const deflated = join(folder, "deflated.npz");
await writeNpz(fileSink(deflated), arrays, { compression: "deflate", level: 1 });
console.log(`deflated: ${fs.statSync(deflated).size} bytes`);
big = undefined;
arrays.length = 0;
const packed = await openNpz(fileSource(deflated));
assert.equal(packed.members[1].size, 4 * length + 128);
await checkChunks(packed, "big", length);
await packed.close();

const parts = [];
const filler = tensor(new Uint8Array(GiB + GiB / 2));
async function* threeGiB() {
  yield ["a", filler];
  yield ["b", filler];
  yield ["last", tensor(small)];
}
for await (const chunk of npzChunks(threeGiB())) parts.push(new Blob([chunk]));
const blob = new Blob(parts);
assert(blob.size > 3 * GiB);
await checkReads(counted(blobSource(blob)), "last", small);
console.log("ok");
