// Copies a 5 GiB file through fileSource, readChunks and fileSink, and reads and writes over 2 GiB in one call.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { readChunks } from "@tensorjar/core";
import { crc32, writeChunks } from "@tensorjar/core/codec";
import { fileSink, fileSource } from "@tensorjar/core/node";
import { folder } from "./support/folder.mjs";

const GiB = 2 ** 30;
const size = 5 * GiB + 3;

/** Mostly a hole, with marked blocks where counts of 31, 32 and 33 bits end, and all along. */
function makeFile(path) {
  const fd = fs.openSync(path, "w");
  fs.ftruncateSync(fd, size);
  const block = new Uint8Array(1 << 20);
  const marks = [0, 2 * GiB - 5, 4 * GiB - 5, 4 * GiB + 12345, size - block.length];
  for (let at = 100_003; at < size - block.length; at += 191 << 20) marks.push(at);
  marks.forEach((at, mark) => {
    for (let i = 0; i < block.length; i++) block[i] = (i * 31 + (i >> 8) + mark * 7 + 1) & 255;
    assert.equal(fs.writeSync(fd, block, 0, block.length, at), block.length);
  });
  fs.closeSync(fd);
}

/** By plain reads, apart from what is tested. */
function checksum(path) {
  const hash = createHash("sha256");
  const piece = new Uint8Array(8 << 20);
  const fd = fs.openSync(path, "r");
  for (let at = 0; ; ) {
    const count = fs.readSync(fd, piece, 0, piece.length, at);
    if (count === 0) break;
    hash.update(piece.subarray(0, count));
    at += count;
  }
  fs.closeSync(fd);
  return hash.digest("hex");
}

async function timed(what, bytes, work) {
  const start = performance.now();
  const result = await work();
  const seconds = (performance.now() - start) / 1000;
  console.log(`${what}: ${seconds.toFixed(1)} s, ${(bytes / 2 ** 20 / seconds).toFixed(0)} MiB/s`);
  return result;
}

const original = join(folder, "original");
const copy = join(folder, "copy");
makeFile(original);
const source = await fileSource(original);
assert.equal(source.size, size);

let copied = 0;
let longest = 0;
let crc = 0;
let told = 0;
async function* counted() {
  for await (const chunk of readChunks(source)) {
    longest = Math.max(longest, chunk.length);
    copied += chunk.length;
    crc = crc32(chunk, crc);
    yield chunk;
  }
}
await timed("copy", size, () =>
  writeChunks(
    fileSink(copy),
    { byteLength: size, chunks: counted() },
    {
      onProgress({ loaded, total }) {
        assert.ok(loaded > told && total === size);
        told = loaded;
      },
    },
  ),
);
assert.equal(copied, size);
assert.equal(told, size);
assert.ok(longest <= 64 << 20, `a chunk of ${longest} bytes`);
assert.equal(fs.statSync(copy).size, size);
assert.deepEqual(fs.readdirSync(folder).sort(), ["copy", "original"]);
assert.equal(checksum(copy), checksum(original));

const again = await fileSource(copy);
let sum = 0;
for await (const chunk of readChunks(again)) sum = crc32(chunk, sum);
assert.equal(sum, crc);

const from = GiB + 7;
const length = 2 * GiB + 100_001;
const into = new Uint8Array(length);
await timed("one read of over 2 GiB", length, () => again.read(from, length, { into }));
for (const at of [0, GiB - 12, 2 * GiB - 12, length - 100_000]) {
  const part = await again.read(from + at, 100_000);
  assert.ok(
    part.every((byte, i) => byte === into[at + i]),
    `bytes at ${at} differ`,
  );
}
await again.close();
fs.rmSync(copy);

const one = join(folder, "one");
const sink = fileSink(one);
await timed("one write of over 2 GiB", length, async () => {
  await sink.write(into);
  await sink.close();
});
const written = await fileSource(one);
assert.equal(written.size, length);
for await (const chunk of readChunks(written, { start: 2 * GiB - (1 << 20) })) {
  const at = length - chunk.length;
  assert.ok(chunk.every((byte, i) => byte === into[at + i]));
}
await written.close();
await source.close();
console.log("ok");
