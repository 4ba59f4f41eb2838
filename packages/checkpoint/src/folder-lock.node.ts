import { randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { isTensorjarError } from "@tensorjar/core";
import { errnoOf, ioError } from "./io-error.node.js";
import {
  hostName,
  identityIn,
  identityText,
  liveness,
  livenessOf,
  ownIdentity,
} from "./process-identity.node.js";
import { locked, reserved, type StoreLock } from "./store.js";

/** How often a holder shows that it lives, and how long one of another host may be silent before it counts as dead. */
const timing = { beat: 2_000, silence: 15_000, poll: 20 };

/** A file of a lock: someone who holds it or asks for it. Its name tells whose it is, its content what of the two. */
interface Claim {
  readonly file: string;
  readonly text: string;
}

/** The claims made by this copy of the code; they live as long as it does. */
const ours = new Set<string>();

/**
 * Takes a lock in a folder. Everyone who wants it puts a file of a name of its own there and then looks who else has;
 * so two can never both find themselves alone, and no file is ever replaced or taken over. Of those who ask at the
 * same time, the lowest name stays. Who gets the lock deletes the files of owners that are dead, and the temporary
 * files that these left. Rejects with `locked`.
 */
export async function lockFolder(
  folder: string,
  name: string,
  { beat, silence, poll }: typeof timing = timing,
): Promise<StoreLock> {
  const prefix = `${reserved}lock-${name}-`;
  const file = `${prefix}${identityText(ownIdentity())}-${randomUUID()}`;
  const path = join(folder, file);
  ours.add(file);
  let beats = 0;
  const text = (state: "asking" | "held"): string => {
    const count = String(beats++).padStart(12, "0");
    const host = hostName() ?? "a host without a name";
    return JSON.stringify({ host, pid: process.pid, state, beats: count });
  };

  async function withdraw(): Promise<void> {
    await fs.unlink(path).catch(() => {}); // not there before it was put, nor after another host took over
  }

  /** Asks until nobody else does; the claims of the dead. Two who ask at once: the higher name withdraws and comes back. */
  async function ask(): Promise<readonly Claim[]> {
    const deadline = performance.now() + silence;
    for (let asking = false; ; ) {
      const { living, dead } = await others(folder, prefix, file, silence, poll);
      const holder = living.find(({ text: said }) => said.includes('"held"'));
      if (holder !== undefined || (living.length > 0 && performance.now() > deadline)) {
        throw locked(name, `is held by ${holderOf(holder ?? living[0])}`);
      }
      if (living.length === 0 && asking) return dead;
      if (living.length === 0) {
        await fs.writeFile(path, text("asking"), { flag: "wx" });
        asking = true;
        continue;
      }
      if (asking && living.some((other) => other.file < file)) {
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
    const dead = await ask();
    await show();
    await removeTemporaries(folder, dead);
    for (const claim of dead) await removeFile(join(folder, claim.file));
  } catch (cause) {
    ours.delete(file);
    await withdraw();
    throw isTensorjarError(cause) ? cause : ioError(cause, path, "could not be locked");
  }
  const timer = setInterval(() => {
    show().catch(() => {}); // `check` tells
  }, beat);
  timer.unref();
  const leave = (): void => {
    clearInterval(timer);
    ours.delete(file);
  };
  return {
    async check() {
      try {
        await show();
      } catch (cause) {
        if (errnoOf(cause) === "ENOENT") {
          leave();
          throw locked(name, "was taken over by another writer");
        }
        throw ioError(cause, path, "could not be written");
      }
    },
    async release() {
      leave();
      await withdraw();
    },
  };
}

/** The other claims, of owners that live and of those that do not. */
async function others(
  folder: string,
  prefix: string,
  own: string,
  silence: number,
  poll: number,
): Promise<{ living: Claim[]; dead: Claim[] }> {
  const living: Claim[] = [];
  const dead: Claim[] = [];
  for (const file of await fs.readdir(folder)) {
    if (!file.startsWith(prefix) || file === own) continue;
    const text = await readText(join(folder, file));
    if (text === undefined) continue;
    const claim = { file, text };
    ((await isAlive(folder, claim, silence, poll)) ? living : dead).push(claim);
  }
  return { living, dead };
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
  const life = liveness(identityIn(file));
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

function holderOf(claim: Claim | undefined): string {
  try {
    const { host, pid } = JSON.parse(claim?.text ?? "");
    return `process ${pid} on ${host}`;
  } catch {
    return "another writer";
  }
}

/** Deletes what the dead were writing: `.tensorjar-PID-UUID.tmp`. No other temporary file is touched. */
async function removeTemporaries(folder: string, dead: readonly Claim[]): Promise<void> {
  const gone = new Set(dead.map(({ file }) => identityIn(file)?.pid));
  if (gone.size === 0) return;
  const started = Date.now() - 1000 * process.uptime();
  for (const file of await fs.readdir(folder)) {
    const pid = Number(/^\.tensorjar-(\d+)-[0-9a-f-]{36}\.tmp$/.exec(file)?.[1]);
    if (!gone.has(pid)) continue;
    const path = join(folder, file);
    // A process that lives may have the number of the dead one; in containers, this one often has.
    const living = pid === process.pid ? await isNewer(path, started) : livenessOf(pid) !== "dead";
    if (!living) await removeFile(path);
  }
}

async function isNewer(path: string, time: number): Promise<boolean> {
  try {
    return (await fs.stat(path)).mtimeMs >= time;
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") return true;
    throw cause;
  }
}

async function removeFile(path: string): Promise<void> {
  await fs.unlink(path).catch((cause: unknown) => {
    if (errnoOf(cause) !== "ENOENT") throw cause;
  });
}
