import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { crc32 } from "@tensorjar/core/codec";
import { errnoOf } from "./io-error.node.js";

/** A process, so that another one can tell whether it still runs. */
export interface ProcessIdentity {
  /** A checksum of the host's name, which file names can hold; of something unique where the name cannot be asked. */
  readonly host: string;
  readonly pid: number;
  /** When it started, in the system's own count; `""` where that cannot be read. Tells it from a later one of its number. */
  readonly started: string;
}

let own: ProcessIdentity | undefined;

export function ownIdentity(): ProcessIdentity {
  own ??= {
    host: hostSum(hostName() ?? randomUUID()),
    pid: process.pid,
    started: startOf(process.pid),
  };
  return own;
}

function hostSum(name: string): string {
  return crc32(new TextEncoder().encode(name)).toString(16).padStart(8, "0");
}

/** The host's name; `undefined` where the runtime does not allow to ask, as Deno without `--allow-sys`. */
export function hostName(): string | undefined {
  try {
    return hostname();
  } catch {
    return undefined;
  }
}

export function identityText({ host, pid, started }: ProcessIdentity): string {
  return `${host}-${pid}-${started}`;
}

/** The identity in the name of a file that ends with it and a UUID. */
export function identityIn(file: string): ProcessIdentity | undefined {
  const [, host, pid, started] = /-([0-9a-f]{8})-(\d+)-(\d*)-[0-9a-f-]{36}$/.exec(file) ?? [];
  if (host === undefined || pid === undefined || started === undefined) return undefined;
  return { host, pid: Number(pid), started };
}

/** The 22nd field of Linux's `/proc/PID/stat`; the second may hold spaces and parentheses. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

/** Whether a process runs; `"unknown"` where it cannot be asked. */
export type Liveness = "dead" | "alive" | "unknown";

/**
 * Whether a process runs: `"unknown"` on another host, where the runtime does not allow to ask, and where it has the
 * number of this process but may be another thread of it or an earlier process.
 */
export function liveness(identity: ProcessIdentity | undefined): Liveness {
  const self = ownIdentity();
  if (identity === undefined || identity.host !== self.host) return "unknown";
  const { pid, started } = identity;
  if (pid === self.pid) return started === self.started ? "unknown" : "dead";
  const now = startOf(pid);
  return started !== "" && now !== "" && now !== started ? "dead" : livenessOf(pid);
}

/** Whether some process of this host has the number. Deno without `--allow-run` does not tell. */
export function livenessOf(pid: number): Liveness {
  try {
    process.kill(pid, 0);
    return "alive";
  } catch (error) {
    const errno = errnoOf(error);
    return errno === "ESRCH" ? "dead" : errno === "EPERM" ? "alive" : "unknown";
  }
}
