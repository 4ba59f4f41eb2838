// Who is measured: a process that runs one job, asked for one run at a time.
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const python = here("../interop/.venv/bin/python");
const runtimes = new Map([[Number(process.versions.node.split(".")[0]), process.execPath]]);

/** The executable of a major version of Node; npx fetches one that is not this one. */
function nodeOf(major) {
  if (!runtimes.has(major)) {
    const args = ["--yes", `node@${major}`, "-p", "process.execPath"];
    runtimes.set(major, execFileSync("npx", args, { encoding: "utf8" }).trim());
  }
  return runtimes.get(major);
}

/** A job in Node: `fresh` starts a process for each run; `major` asks for another version. */
export function node(job, args = {}, { fresh = false, major } = {}) {
  return {
    fresh,
    start: () =>
      start(major === undefined ? process.execPath : nodeOf(major), [
        "--expose-gc",
        here("child.mjs"),
        job,
        JSON.stringify(args),
      ]),
  };
}

/** A job in Python with NumPy, undefined where `npm run interop` has not made that environment. */
export function numpy(job, args = {}, { fresh = false } = {}) {
  if (!existsSync(python)) return undefined;
  return {
    fresh,
    start: () => start(python, ["-P", here("child.py"), job, JSON.stringify(args)]),
  };
}

async function start(command, args) {
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "inherit"],
    // NumPy asks for huge pages, Node does not: no side gets them.
    env: { ...process.env, NUMPY_MADVISE_HUGEPAGE: "0" },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${args.slice(-2).join(" ")} ended without an answer`);
    return JSON.parse(value);
  };
  await answer();
  return {
    sample() {
      child.stdin.write("\n");
      return answer();
    },
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
    },
  };
}

/**
 * Runs of all contestants in turn: name → samples `{ ms, peak }`, `pairs` of each. Before, warm contestants run without
 * being counted, `warmUps` times and until the fastest has worked for `warmMs`. Those that are undefined are left out.
 */
export async function interleave(contestants, { pairs, warmUps, warmMs = 0 }) {
  const present = Object.entries(contestants).filter(([, contestant]) => contestant);
  const samples = Object.fromEntries(present.map(([name]) => [name, []]));
  const running = new Map();
  try {
    const warmed = new Map(present.filter(([, { fresh }]) => !fresh).map(([name]) => [name, 0]));
    const isWarm = (rounds) =>
      rounds >= warmUps && (rounds >= 100 || Math.min(...warmed.values()) >= warmMs);
    let warming = warmed.size > 0 ? 0 : undefined;
    const backwards = present.toReversed();
    let turn = 0;
    for (let round = 0; round < pairs; ) {
      if (warming !== undefined && isWarm(warming++)) warming = undefined;
      for (const [name, contestant] of turn++ % 2 === 0 ? present : backwards) {
        if (contestant.fresh && warming !== undefined) continue;
        const process = running.get(name) ?? (await contestant.start());
        if (!contestant.fresh) running.set(name, process);
        const sample = await process.sample();
        if (contestant.fresh) await process.stop();
        if (warming === undefined) samples[name].push(sample);
        else warmed.set(name, warmed.get(name) + sample.ms);
      }
      if (warming === undefined) round++;
    }
  } finally {
    for (const process of running.values()) await process.stop();
  }
  return samples;
}
