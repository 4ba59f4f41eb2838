// Writes 6 GiB of tensors from a producer through fileSink, within 128 MiB of memory beyond the start, and reads
// parts of them back; then gives the file other metadata within the same bound.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { join } from "node:path";
import {
  fileSink,
  fileSource,
  openSafetensors,
  updateSafetensorsMetadata,
  writeSafetensors,
} from "@tensorjar/safetensors/node";
import { folder } from "./support/folder.mjs";

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const bound = 128 * MiB;

const path = join(folder, "model.safetensors");
const names = ["a", "b", "c"];
const elements = (2 * GiB) / 4;

/** 2 GiB whose every element says which it is, in pieces of 5 MiB. */
async function* produce(mark) {
  const piece = new Uint32Array((5 * MiB) / 4);
  for (let at = 0; at < elements; at += piece.length) {
    for (let i = 0; i < piece.length; i++) piece[i] = (at + i) ^ mark;
    yield new Uint8Array(piece.buffer, 0, 4 * Math.min(piece.length, elements - at));
  }
}

/** Runs `work` and says how long it took and how far memory rose. */
async function measured(what, work) {
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  const start = performance.now();
  const result = await work();
  clearInterval(timer);
  const seconds = (performance.now() - start) / 1000;
  const risen = (peak - before) / MiB;
  console.log(`${what}: ${seconds.toFixed(1)} s, memory rose by ${risen.toFixed(0)} MiB`);
  assert.ok(peak - before <= bound, `memory rose by ${risen} MiB`);
  return result;
}

async function check(step) {
  const file = await openSafetensors(fileSource(path));
  assert.deepEqual(file.names, names);
  assert.equal(file.metadata.get("step"), step);
  assert.equal(file.footprint(), 6 * GiB);
  for (const [mark, name] of names.entries()) {
    for (const start of [0, 12_345_678, elements - 1000]) {
      const { data } = await file.slice(name, [{ start, stop: start + 1000 }]);
      for (let i = 0; i < 1000; i++) assert.equal(data[i], ((start + i) ^ mark) >>> 0);
    }
  }
  await file.close();
}

await measured("written", () =>
  writeSafetensors(
    fileSink(path),
    names.map((name, mark) => ({
      name,
      dtype: "uint32",
      shape: [elements],
      data: () => produce(mark),
    })),
    { metadata: { step: "1" } },
  ),
);
assert.ok(fs.statSync(path).size > 6 * GiB);
await measured("read in parts", () => check("1"));
await measured("given other metadata", () =>
  updateSafetensorsMetadata(fileSource(path), fileSink(path), { step: "2" }),
);
await check("2");
