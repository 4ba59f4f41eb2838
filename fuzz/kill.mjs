// Kills a process that trains and saves at random moments, and checks every restart: node fuzz/kill.mjs [--kills 100] [--seed 1]
// A checkpoint that was durable is there, whole, or the one after it; nothing else is; the dead one's lock is no hindrance.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { options, random } from "./support/random.mjs";

const { kills, seed } = options({ kills: 100 });
const { below } = random(seed);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const work = mkdtempSync(join(tmpdir(), "tensorjar-kill-"));
const child = join(work, "child.mjs");
await build({
  entryPoints: [here("kill/child.mjs")],
  outfile: child,
  bundle: true,
  format: "esm",
  platform: "node",
  conditions: ["tensorjar-source"],
});

/** Starts a child and listens to it; `said` is what it printed last of each kind. */
function start(folder, kind, saves, onDurable = () => {}) {
  const deno = "Deno" in globalThis ? ["run", "-A"] : [];
  const args = [...deno, child, folder, kind, String(saves)];
  const running = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const said = { restored: undefined, durable: undefined };
  let errors = "";
  running.stderr.on("data", (data) => {
    errors += data;
  });
  let restored = () => {};
  const ready = new Promise((resolve) => {
    restored = resolve;
  });
  createInterface({ input: running.stdout }).on("line", (line) => {
    const [word, step] = line.split(" ");
    said[word] = Number(step);
    if (word === "restored") restored();
    else onDurable(said.durable);
  });
  const ended = once(running, "close").then(([code, signal]) => {
    restored();
    if (code !== 0 && signal !== "SIGKILL") throw new Error(`the child failed: ${errors}`);
    return signal === "SIGKILL";
  });
  ended.catch(() => {}); // thrown where it is awaited
  return { said, ready, ended, kill: () => running.kill("SIGKILL") };
}

/** Waits a random time, a fifth of the times before the child has restored, and kills it. */
async function killSoon({ ready, ended, kill }) {
  const early = below(5) === 0;
  const life = below(early ? 300 : 60);
  if (!early) await ready;
  await Promise.race([setTimeout(life), ended]);
  kill();
  return ended;
}

function checkLeft(folder) {
  const left = readdirSync(folder).sort();
  if (left.every((name) => /^step-\d{12}\.\w+$/.test(name)) && left.length <= 3) return;
  throw new Error(`left behind: ${left.join(", ")}`);
}

/** One writer, killed again and again. Returns how often the save in flight was there. */
async function alone(extension, kills) {
  const folder = join(work, extension.slice(1));
  let durable = 0;
  let inFlight = 0;
  for (let killed = 0; killed < kills; ) {
    const run = start(folder, extension, 1000);
    if (await killSoon(run)) killed++;
    const { restored, durable: saved } = run.said;
    if (restored === undefined) continue;
    if (restored < durable || restored > durable + 1) {
      throw new Error(`step ${durable} was durable, ${restored} was restored`);
    }
    if (restored > durable) inFlight++;
    durable = saved ?? restored;
  }
  await start(folder, extension, 2).ended;
  checkLeft(folder);
  return inFlight;
}

/** Two processes that both want to write; whichever is killed, the other goes on. */
async function together(kills) {
  const folder = join(work, "shared");
  let durable = 0;
  const note = (step) => {
    durable = Math.max(durable, step);
  };
  const writers = [start(folder, "shared", 1000, note), start(folder, "shared", 1000, note)];
  for (let killed = 0; killed < kills; killed++) {
    const which = below(2);
    await killSoon(writers[which]);
    const before = durable;
    const next = start(folder, "shared", 1000, note);
    await next.ready;
    const { restored } = next.said;
    if (restored === undefined) await next.ended; // says why
    if (restored < before) throw new Error(`step ${before} was durable, ${restored} was restored`);
    writers[which] = next;
  }
  for (const { kill } of writers) kill();
  for (const { ended } of writers) await ended;
  await start(folder, "shared", 2).ended;
  checkLeft(folder);
  return durable;
}

try {
  const inFlight = (await alone(".safetensors", kills * 0.4)) + (await alone(".npz", kills * 0.3));
  const steps = await together(kills * 0.3);
  if (steps === 0) throw new Error("two writers never wrote");
  console.log(
    `${kills} kills: every restart found the last durable step or, ${inFlight} times, the one in flight`,
  );
} catch (error) {
  throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
} finally {
  rmSync(work, { recursive: true });
}
