// Runs every fuzzer of fuzz/ over mutated files, with its memory bounded: npm run fuzz -- [COUNT per parser=20000] [SEED].
// Then kills a process that saves checkpoints, once per 1,000 files. Needs a build.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../fuzz/", import.meta.url));
const [count = "20000", seed = "1"] = process.argv.slice(2);
const programs = readdirSync(folder).filter((file) => /^(?!kill).*\.mjs$/.test(file));
const options = ["--count", count, "--seed", seed];
const memory = new URL("../fuzz/support/memory.mjs", import.meta.url).href;
const runs = programs
  .sort()
  .map((file) => ["--max-old-space-size=256", "--import", memory, folder + file, ...options]);
runs.push([
  `${folder}kill.mjs`,
  "--kills",
  String(Math.ceil(Number(count) / 1000)),
  "--seed",
  seed,
]);

for (const args of runs) {
  console.log(`\n# node ${args.join(" ").replaceAll(folder, "fuzz/")}`);
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
console.log(`\n${programs.length * Number(count)} mutated inputs: nothing but TensorjarErrors`);
