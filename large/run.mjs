// Runs what needs gigabytes, on every runtime: node large/run.mjs [NAME…] [--on node,node@24]
// Each large/NAME.mjs is a program that fails loudly, and deletes its files. The packages must be built.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { commandOf, runtimes } from "../tooling/runtimes.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { on: { type: "string", default: runtimes.join() } },
});
const folder = fileURLToPath(new URL(".", import.meta.url));
const programs = readdirSync(folder)
  .filter((file) => file.endsWith(".mjs") && file !== "run.mjs")
  .filter((file) => positionals.length === 0 || positionals.includes(file.slice(0, -4)))
  .sort();
if (programs.length === 0) throw new Error(`no such program: ${positionals.join(", ")}`);

let failed = 0;
for (const program of programs) {
  for (const runtime of values.on.split(",")) {
    const [command, ...args] = commandOf(runtime);
    console.log(`\n# ${program} on ${runtime === "node" ? `node ${process.version}` : runtime}`);
    const { status } = spawnSync(command, [...args, `${folder}${program}`], { stdio: "inherit" });
    if (status !== 0) {
      console.error(`FAILED (${status})`);
      failed++;
    }
  }
}
const runs = programs.length * values.on.split(",").length;
console.log(`\n${runs - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
