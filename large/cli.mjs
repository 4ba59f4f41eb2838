// The command on files far beyond its memory: inspect of 6 GiB, convert of 4 GiB with a progress bar, diff of 1 GiB;
// time and peak memory of its process, Node included. The command is for Node; other runtimes pass this by.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tensor, writeNpz } from "@tensorjar/npz";
import { encodeSafetensorsHeader } from "@tensorjar/safetensors";
import { fileSink, writeSafetensors } from "@tensorjar/safetensors/node";
import { folder } from "./support/folder.mjs";

if (process.versions.bun || process.versions.deno) {
  console.log("passed by");
  process.exit();
}

const MiB = 2 ** 20;
const GiB = 2 ** 30;
const at = (name) => join(folder, name);

const bin = fileURLToPath(new URL("../packages/cli/dist/bin.js", import.meta.url));
const usedFile = at("used");
/** Writes down what the process used. On Linux `maxRSS` would count the parent's memory too. */
const hook = `data:text/javascript,${encodeURIComponent(`
import { readFileSync, writeFileSync } from "node:fs";
process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  let peak = maxRSS;
  if (process.platform === "linux")
    peak = Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
  const used = { peak: peak * 1024, seconds: (userCPUTime + systemCPUTime) / 1e6 };
  writeFileSync(process.env.USED, JSON.stringify(used));
});`)}`;

/**
 * Runs the command; what it printed. Fails when it ends with another code, when its process took more than `most` bytes,
 * or more than `seconds` of processor time, which tells the same on a busy machine.
 */
function command(args, { most, seconds = Number.POSITIVE_INFINITY, terminal = false, code = 0 }) {
  const words = [process.execPath, "--import", hook, bin, ...args];
  const quoted = words.map((word) => `'${word}'`).join(" "); // no word has a quote in it
  const [program, ...rest] = terminal ? ["script", "-qefc", quoted, "/dev/null"] : words;
  const start = performance.now();
  const { stdout, stderr, status } = spawnSync(program, rest, {
    encoding: "utf8",
    maxBuffer: 64 * MiB,
    env: { ...process.env, USED: usedFile },
  });
  const took = (performance.now() - start) / 1000;
  const { peak, seconds: busy } = JSON.parse(fs.readFileSync(usedFile, "utf8"));
  const what = args.filter((word) => !word.startsWith(folder)).join(" ");
  console.log(
    `${what}: ${took.toFixed(2)} s, of the processor ${busy.toFixed(2)} s, at most ${(peak / MiB).toFixed(0)} MiB`,
  );
  assert.equal(status, code, `${stdout}${stderr}`);
  assert.ok(peak <= most, `${peak / MiB} MiB`);
  assert.ok(busy <= seconds, `${busy} s`);
  return { stdout, stderr };
}

// A hole of 6 GiB behind the header of a model of 400 tensors.
const count = 400;
const each = (6 * GiB) / count - (((6 * GiB) / count) % 4);
const infos = Array.from({ length: count }, (_, i) => [
  `model.layers.${i}.weight`,
  { dtype: "float32", shape: [each / 4], begin: i * each, end: (i + 1) * each },
]);
const header = encodeSafetensorsHeader(infos, { format: "pt" });
fs.writeFileSync(at("sparse.safetensors"), header);
fs.truncateSync(at("sparse.safetensors"), header.length + count * each);
const inspect = { most: 150 * MiB, seconds: 1 };
const listed = command(["inspect", at("sparse.safetensors")], inspect);
assert.equal(listed.stdout.match(/model\.layers\.\d+\.weight/g)?.length, count);
fs.rmSync(at("sparse.safetensors"));

/** Eight members of 512 MiB whose every element says which it is, in memory that is used again. */
function* members() {
  const data = new Uint32Array((512 * MiB) / 4);
  for (let mark = 0; mark < 8; mark++) {
    for (let i = 0; i < data.length; i++) data[i] = (i * 8) ^ mark;
    yield [`part.${mark}`, tensor(data)];
  }
}
for (const compression of ["stored", "deflate"]) {
  await writeNpz(fileSink(at("a.npz")), members(), { compression, level: 1 });
  console.log(`${compression}: 8 members of 512 MiB, ${fs.statSync(at("a.npz")).size} bytes`);
  const most = 300 * MiB;
  const shown = command(["convert", at("a.npz"), at("a.safetensors")], { most, terminal: true });
  assert.ok((shown.stdout.match(/\d+%/g)?.length ?? 0) > 2, "no progress on a terminal");
  const piped = command(["convert", at("a.npz"), at("b.safetensors")], { most });
  assert.equal(piped.stderr, "");
  fs.rmSync(at("b.safetensors"));
  command(["diff", at("a.npz"), at("a.safetensors")], { most });
  fs.rmSync(at("a.npz"));
  fs.rmSync(at("a.safetensors"));
}

/** 1 GiB of float32 of which one element is `value`. */
async function gigabyte(path, value) {
  async function* data() {
    const piece = new Float32Array((4 * MiB) / 4);
    for (let i = 0; i < 256; i++) {
      for (let j = 0; j < piece.length; j++) piece[j] = i + j / piece.length;
      if (i === 200) piece[123_456] = value;
      yield new Uint8Array(piece.buffer);
    }
  }
  await writeSafetensors(fileSink(path), [
    { name: "weight", dtype: "float32", shape: [1024, MiB / 4], data },
  ]);
}
await gigabyte(at("a.safetensors"), 0);
await gigabyte(at("b.safetensors"), 7.5);
const { stdout } = command(["diff", at("a.safetensors"), at("b.safetensors"), "--json"], {
  most: 300 * MiB,
  code: 1,
});
assert.deepEqual(JSON.parse(stdout).differences, [
  { name: "weight", kind: "values", count: 1, maxAbs: 7.5, nans: 0 },
]);
