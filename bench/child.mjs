// node child.mjs FILE/JOB ARGUMENTS: prepares a job of jobs/FILE.mjs, then answers each line on stdin by running it once:
// the milliseconds it took, and the most memory that the process ever had. Start-up and preparation are not counted, nor
// is a first run with the path `first`, where that is given.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

const [job, args] = process.argv.slice(2);
const [file, name] = job.split("/");
const { [name]: prepare } = await import(`./jobs/${file}.mjs`);
const { first, ...given } = JSON.parse(args);
if (first !== undefined) await (await prepare({ ...given, path: first })).run();
const { run, before, after } = await prepare(given);

const arrayMemory = () => process.memoryUsage().arrayBuffers;
let kept = 0;

/**
 * Collects what runs before have left: it would else be done while the clock runs, of some contestants and not of
 * others, by chance. All that is old only once there is much of it, because optimised code goes with a whole collection.
 */
async function collect() {
  const before = arrayMemory();
  globalThis.gc({ type: "minor" });
  if (arrayMemory() >= kept + (32 << 20)) {
    globalThis.gc();
    kept = arrayMemory();
  }
  await setTimeout(5 + before / 2 ** 22); // another thread gives the memory back, some 10 MiB in a millisecond
}

async function once() {
  await before?.();
  await collect();
  const start = performance.now();
  const result = await run();
  const ms = result?.ms ?? performance.now() - start;
  await after?.();
  return { ms, peak: peakMemory() };
}

/** In KiB. What `resourceUsage` says of a child may be its parent's. */
function peakMemory() {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "latin1"))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
}

console.log("{}");
for await (const _ of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await once()));
}
