import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { crc32 } from "@tensorjar/core/codec";

/** A process, so that another one can tell whether it still runs. */
export interface ProcessIdentity {
  /** A checksum of the host's name, which file names can hold. */
  readonly host: string;
  readonly pid: number;
  /** When it started, in the system's own count; `""` where that cannot be read. Tells it from a later one of its number. */
  readonly started: string;
}

let own: ProcessIdentity | undefined;

export function ownIdentity(): ProcessIdentity {
  const host = crc32(new TextEncoder().encode(hostname())).toString(16).padStart(8, "0");
  own ??= { host, pid: process.pid, started: startOf(process.pid) };
  return own;
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

/**
 * Whether a process runs: `"unknown"` on another host, and where it has the number of this process but may be
 * another thread of it or an earlier process.
 */
export function liveness(identity: ProcessIdentity | undefined): "dead" | "alive" | "unknown" {
  const self = ownIdentity();
  if (identity === undefined || identity.host !== self.host) return "unknown";
  const { pid, started } = identity;
  if (pid === self.pid) return started === self.started ? "unknown" : "dead";
  if (!isRunning(pid)) return "dead";
  const now = startOf(pid);
  return started !== "" && now !== "" && now !== started ? "dead" : "alive";
}

/** Whether some process of this host has the number. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
