// Runs every fuzzer of fuzz/ over mutated files: npm run fuzz -- [COUNT per parser=20000] [SEED]. Then kills a process
// that saves checkpoints, once per 1,000 files. Needs a build.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../fuzz/", import.meta.url));
const [count = "20000", seed = "1"] = process.argv.slice(2);
const programs = readdirSync(folder).filter((file) => /^(?!kill|random).*\.mjs$/.test(file));
const options = ["--count", count, "--seed", seed];
const runs = programs.sort().map((file) => [file, ...options]);
runs.push(["kill.mjs", "--kills", String(Math.ceil(Number(count) / 1000)), "--seed", seed]);

for (const [file, ...args] of runs) {
  console.log(`\n# fuzz/${file} ${args.join(" ")}`);
  const { status } = spawnSync(process.execPath, [folder + file, ...args], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
