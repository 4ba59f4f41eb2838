// Conversions ÷ NumPy, ml_dtypes or a memory copy, as medians of interleaved pairs in one run, into ready arrays of
// 4 Mi elements on both sides: `npm run build && node interop/speed.mjs [--check]`. Needs the Python environment.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { cast, tensor, zeros } from "../packages/core/dist/index.js";
import { readFloat32 } from "../packages/core/dist/read-numbers.js";
import { storeFloat32 } from "../packages/core/dist/store-numbers.js";

const count = 4 << 20;
const pairs = 15;
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "tensorjar-speed-"));
const numbers = new Float32Array(count);
for (let i = 0, state = 1; i < count; i++) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  numbers[i] = (state / 2 ** 31 - 1) * 2 ** (((state >>> 8) % 24) - 16);
}
writeFileSync(join(folder, "numbers.bin"), numbers);
const python = spawn(
  here(".venv/bin/python"),
  ["-P", here("speed.py"), count, join(folder, "numbers.bin")],
  {
    stdio: ["pipe", "pipe", "inherit"],
  },
);
const answers = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
async function inPython(source, target) {
  python.stdin.write(`${source} ${target}\n`);
  return Number((await answers.next()).value);
}

const singles = tensor(numbers);
const out = new Float32Array(count);
const copied = Float32Array.from(numbers);
const from = (dtype) => {
  const given = cast(singles, dtype);
  return () => readFloat32(given, 0, out);
};
const to = (dtype) => {
  const made = zeros([count], dtype);
  return () => storeFloat32(made, 0, numbers);
};

const small = [
  "float8_e4m3fn",
  "float8_e5m2",
  "float8_e8m0fnu",
  "float8_e4m3fnuz",
  "float8_e5m2fnuz",
];
const copy = async () => timed(() => out.set(copied));
const rows = [
  ["15 float16 → float32 ÷ NumPy", 0.5, from("float16"), () => inPython("float16", "float32")],
  ["15 bfloat16 → float32 ÷ copy of the output", 3, from("bfloat16"), copy],
  ...small.map((dtype) => [
    `15 ${dtype} → float32 ÷ ml_dtypes`,
    dtype === "float8_e8m0fnu" ? Infinity : 0.17,
    from(dtype),
    () => inPython(dtype, "float32"),
  ]),
  [
    "16 float32 → float16 ÷ NumPy",
    "Float16Array" in globalThis ? 1 : 1.6,
    to("float16"),
    () => inPython("float32", "float16"),
  ],
  ["16 float32 → bfloat16 ÷ ml_dtypes", 6, to("bfloat16"), () => inPython("float32", "bfloat16")],
  ...small.map((dtype) => [
    `-- float32 → ${dtype} ÷ ml_dtypes`,
    Infinity,
    to(dtype),
    () => inPython("float32", dtype),
  ]),
];

function timed(work) {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start);
}
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

let failed = false;
for (const [name, target, ours, theirs] of rows) {
  const samples = [];
  for (let i = -3; i < pairs; i++) {
    const pair = [timed(ours), await theirs()];
    if (i >= 0) samples.push(pair);
  }
  const mine = median(samples.map(([a]) => a));
  const other = median(samples.map(([, b]) => b));
  const ratio = median(samples.map(([a, b]) => a / b));
  const fine = ratio <= target;
  failed ||= !fine;
  const goal = target === Infinity ? "" : `(≤ ${target})${fine ? "" : " MISSED"}`;
  console.log(
    `${name.padEnd(48)} ${(mine / 1e6).toFixed(2)} ms ÷ ${(other / 1e6).toFixed(2)} ms = ${ratio.toFixed(3)} ${goal}`,
  );
}
python.stdin.end();
rmSync(folder, { recursive: true });
if (failed && process.argv.includes("--check")) process.exitCode = 1;
