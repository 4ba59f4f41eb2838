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

let arrays = 0;

/**
 * Collects what runs before have left: it would else be done while the clock runs, of some contestants and not of
 * others, by chance. The arrays only once there are many, because optimised code goes with a whole collection.
 */
async function collect() {
  globalThis.gc({ type: "minor" });
  if (process.memoryUsage().arrayBuffers < arrays + (32 << 20)) return;
  globalThis.gc();
  await setTimeout(20); // another thread gives the memory back
  arrays = process.memoryUsage().arrayBuffers;
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
