// Takes the checks out of the header parsers, one at a time, and runs the tests of the package: each must fail.
//   node tooling/mutation.mjs [PACKAGE ...]      prints survivors; exits 1 below 90 %, or for one without a reason
// Reasons stand in tooling/mutation-survivors.json: { "packages/npy/src/x.ts": { "text of the check": "why it may stay" } }.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { mutantsOf } from "./mutants.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = 0.9;
const timeout = 120_000;
const parallel = 2;

/** The files that parse what a file declares of itself. */
const parsers = {
  npy: /^(literal|descr|header|shape)/,
  npz: /^(directory|end-record|fields|local-header|names|reader|content)/,
  safetensors: /^(header|json-reader|layout|dtype-names|shard-index)/,
};

const reasons = JSON.parse(
  readFileSync(new URL("mutation-survivors.json", import.meta.url), "utf8"),
);
const wanted = process.argv.slice(2);
const mutants = Object.entries(parsers)
  .filter(([name]) => wanted.length === 0 || wanted.includes(name))
  .flatMap(([name, pattern]) =>
    readdirSync(`${root}packages/${name}/src`)
      .filter((file) => pattern.test(file))
      .flatMap((file) => {
        const path = `packages/${name}/src/${file}`;
        return mutantsOf(path, readFileSync(root + path, "utf8")).map((mutant) => ({
          name,
          path,
          ...mutant,
        }));
      }),
  );

/** Whether a test of the package fails, with a mutant or without one; one that never ends fails too. */
function fails(name, mutant) {
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [
        "node_modules/vitest/vitest.mjs",
        "run",
        "--project",
        "node",
        "--bail",
        "1",
        "--reporter",
        "dot",
        `packages/${name}/test`,
      ],
      {
        cwd: root,
        stdio: "ignore",
        detached: true, // so that its workers, which may never end, die with it
        env: { ...process.env, ...(mutant && { TENSORJAR_MUTANT: JSON.stringify(mutant) }) },
      },
    );
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), timeout);
    child.on("exit", (code) => {
      clearTimeout(timer);
      resolve(code !== 0);
    });
  });
}

for (const name of new Set(mutants.map((mutant) => mutant.name))) {
  if (await fails(name)) throw new Error(`the tests of ${name} fail as they are`);
}
const survivors = [];
const queue = mutants.entries();
let done = 0;
await Promise.all(
  Array.from({ length: parallel }, async () => {
    for (const [, mutant] of queue) {
      const { name, path, start, end, replacement } = mutant;
      const began = performance.now();
      const killed = await fails(name, { path, start, end, replacement });
      if (!killed) survivors.push(mutant);
      done += 1;
      const fate = !killed ? "survived" : performance.now() - began < timeout ? "killed" : "no end";
      console.error(`${done}/${mutants.length} ${fate}  ${path}:${mutant.line}`);
    }
  }),
);

let unexplained = 0;
for (const { path, line, text } of survivors.sort(
  (a, b) => a.path.localeCompare(b.path, "en") || a.line - b.line,
)) {
  const reason = reasons[path]?.[text];
  if (reason === undefined) unexplained += 1;
  console.log(`survived  ${path}:${line}  ${text}\n          ${reason ?? "NO REASON GIVEN"}`);
}
const rate = mutants.length === 0 ? 0 : (mutants.length - survivors.length) / mutants.length;
console.log(
  `${mutants.length - survivors.length} of ${mutants.length} checks are held by a test (${(100 * rate).toFixed(1)} %)`,
);
process.exitCode = rate < target || unexplained > 0 ? 1 : 0;
