import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** A process, so that another one can tell whether it still runs. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** When it started, in the system's own count; `""` where that cannot be read. Tells it from a later one of its number. */
  readonly started: string;
}

let own: ProcessIdentity | undefined;

export function ownIdentity(): ProcessIdentity {
  own ??= { host: hostname(), pid: process.pid, started: startOf(process.pid) };
  return own;
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
export function liveness({ host, pid, started }: ProcessIdentity): "dead" | "alive" | "unknown" {
  const self = ownIdentity();
  if (host !== self.host) return "unknown";
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
