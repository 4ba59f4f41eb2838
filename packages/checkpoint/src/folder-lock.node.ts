import { randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { isTensorjarError } from "@tensorjar/core";
import { errnoOf, ioError } from "./io-error.node.js";
import { isRunning, liveness, ownIdentity } from "./process-identity.node.js";
import { locked, reserved, type StoreLock } from "./store.js";

/** How often a holder shows that it lives, and how long one of another host may be silent before it counts as dead. */
const timing = { beat: 2_000, silence: 15_000, poll: 20 };

/** A file of a lock: someone who holds it or asks for it. */
interface Claim {
  readonly file: string;
  readonly text: string;
}

/** The claims made by this copy of the code; they live as long as it does. */
const ours = new Set<string>();

/**
 * Takes a lock in a folder. Everyone who wants it puts a file of a name of its own there and then looks who else has;
 * so two can never both find themselves alone, and no file is ever replaced or taken over: a file is deleted by its
 * owner, or by whoever knows that its owner is dead. Of those who ask at the same time, the lowest name stays.
 * Rejects with `locked`.
 */
export async function lockFolder(
  folder: string,
  name: string,
  { beat, silence, poll }: typeof timing = timing,
): Promise<StoreLock> {
  const prefix = `${reserved}lock-${name}-`;
  const file = `${prefix}${randomUUID()}`;
  const path = join(folder, file);
  ours.add(file);
  let beats = 0;
  const text = (state: "asking" | "held"): string =>
    JSON.stringify({ ...ownIdentity(), state, beats: String(beats++).padStart(12, "0") });

  async function withdraw(): Promise<void> {
    await fs.unlink(path).catch(() => {}); // not there before it was put, nor after another host took over
  }

  /** Asks until nobody else does. Two who ask at once: the higher name withdraws and comes back. */
  async function ask(): Promise<void> {
    const deadline = performance.now() + silence;
    for (let asking = false; ; ) {
      const others = await living(folder, prefix, file, silence, poll);
      const holder = others.find(({ text: said }) => said.includes('"held"'));
      if (holder !== undefined || (others.length > 0 && performance.now() > deadline)) {
        throw locked(name, `is held by ${holderOf(holder ?? others[0])}`);
      }
      if (others.length === 0 && asking) return;
      if (others.length === 0) {
        // Renamed, so that nobody sees it empty, and a kill half-way leaves no claim that tells nothing of its owner.
        const temporary = join(folder, `${reserved}${process.pid}-${randomUUID()}.tmp`);
        await fs.writeFile(temporary, text("asking"), { flag: "wx" });
        await fs.rename(temporary, path);
        asking = true;
        continue;
      }
      if (asking && others.some((other) => other.file < file)) {
        await withdraw();
        asking = false;
      }
      await new Promise((resolve) => setTimeout(resolve, poll * (1 + Math.random())));
    }
  }

  /** Says that this one lives, in place: a file that another host has taken away must not come back. */
  async function show(): Promise<void> {
    const handle = await fs.open(path, "r+");
    try {
      await handle.write(`${text("held")}  `, 0); // as long as "asking"
    } finally {
      await handle.close();
    }
  }

  try {
    await ask();
    await show();
    await removeTemporaries(folder);
  } catch (cause) {
    ours.delete(file);
    await withdraw();
    throw isTensorjarError(cause) ? cause : ioError(cause, path, "could not be locked");
  }
  const timer = setInterval(() => {
    show().catch(() => {}); // `check` tells
  }, beat);
  timer.unref();
  return {
    async check() {
      try {
        await show();
      } catch (cause) {
        if (errnoOf(cause) === "ENOENT") throw locked(name, "was taken over by another writer");
        throw ioError(cause, path, "could not be written");
      }
    },
    async release() {
      clearInterval(timer);
      ours.delete(file);
      await withdraw();
    },
  };
}

/** The claims of others that live; those of the dead are deleted. */
async function living(
  folder: string,
  prefix: string,
  own: string,
  silence: number,
  poll: number,
): Promise<Claim[]> {
  const claims: Claim[] = [];
  for (const file of await fs.readdir(folder)) {
    if (!file.startsWith(prefix) || file === own) continue;
    const text = await readText(join(folder, file));
    if (text === undefined) continue;
    if (await isAlive(folder, { file, text }, silence, poll)) claims.push({ file, text });
    else await fs.unlink(join(folder, file)).catch(() => {});
  }
  return claims;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await fs.readFile(path, "utf8");
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") return undefined;
    throw cause;
  }
}

/** Whoever cannot be asked is watched: it lives when its file changes in time. No clock of another host is believed. */
async function isAlive(
  folder: string,
  { file, text }: Claim,
  silence: number,
  poll: number,
): Promise<boolean> {
  if (ours.has(file)) return true;
  const life = livenessOf(text);
  if (life !== "unknown") return life === "alive";
  const deadline = performance.now() + silence;
  while (performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, poll));
    const now = await readText(join(folder, file));
    if (now === undefined) return false;
    if (now !== text) return true;
  }
  return false;
}

function livenessOf(text: string): "dead" | "alive" | "unknown" {
  try {
    const { host, pid, started } = JSON.parse(text);
    return liveness({ host: String(host), pid: Number(pid), started: String(started) });
  } catch {
    return "unknown"; // just being made, or damaged
  }
}

function holderOf(claim: Claim | undefined): string {
  try {
    const { host, pid } = JSON.parse(claim?.text ?? "");
    return `process ${pid} on ${host}`;
  } catch {
    return "another writer";
  }
}

/** Deletes the temporary files of writers that are gone: `.tensorjar-PID-UUID.tmp`. The lock is held. */
async function removeTemporaries(folder: string): Promise<void> {
  const started = Date.now() - 1000 * process.uptime();
  for (const file of await fs.readdir(folder)) {
    const pid = Number(/^\.tensorjar-(\d+)-[0-9a-f-]{36}\.tmp$/.exec(file)?.[1]);
    if (Number.isNaN(pid)) continue;
    const path = join(folder, file);
    try {
      const old = pid === process.pid && (await fs.stat(path)).mtimeMs < started;
      if (old || !isRunning(pid)) await fs.unlink(path);
    } catch (cause) {
      if (errnoOf(cause) !== "ENOENT") throw ioError(cause, path, "could not be cleaned up");
    }
  }
}
