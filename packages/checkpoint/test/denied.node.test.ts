import { randomUUID } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import type * as Os from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { expectError } from "../../../tooling/testing.js";
import { lockFolder } from "../src/folder-lock.node.js";
import { ioError } from "../src/io-error.node.js";
import { identityText, ownIdentity } from "../src/process-identity.node.js";

const host = vi.hoisted(() => ({ isDenied: false }));

vi.mock("node:os", async (original) => {
  const real: typeof Os = await original();
  const hostname = (): string => {
    if (host.isDenied) throw denied("sys");
    return real.hostname();
  };
  return { ...real, hostname };
});

/** What Deno throws without the permission: an error without a code. */
function denied(what: string): Error {
  return Object.assign(new Error(`Requires ${what} access`), { name: "NotCapable" });
}

const { path } = temporaryFolder();
const quick = { beat: 50, silence: 300, poll: 5 };

afterEach(() => {
  vi.restoreAllMocks();
  host.isDenied = false;
});

describe("where a runtime does not tell whether a process runs", () => {
  /** The file of a lock that the process which started this one holds, as that would write it. */
  async function claim(): Promise<{ folder: string; show(beats: number): Promise<void> }> {
    const folder = path(randomUUID());
    await mkdir(folder);
    const identity = { ...ownIdentity(), pid: process.ppid, started: "" };
    const file = join(folder, `.tensorjar-lock-w-${identityText(identity)}-${randomUUID()}`);
    const show = (beats: number) =>
      writeFile(file, JSON.stringify({ host: "h", pid: 7, state: "held", beats }));
    await show(0);
    return { folder, show };
  }

  test("a lock whose holder shows that it lives is not taken from it", async () => {
    const { folder, show } = await claim();
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw denied("run");
    });
    let beats = 0;
    const beating = setInterval(() => void show(++beats), 20);
    try {
      await expectError(() => lockFolder(folder, "w", quick), {
        code: "locked",
        names: ["7 on h"],
      });
    } finally {
      clearInterval(beating);
    }
  });

  test("a lock whose holder is silent is taken over, and temporary files that may be in use stay", async () => {
    const { folder } = await claim();
    const temporary = `.tensorjar-${process.ppid}-${randomUUID()}.tmp`;
    await writeFile(join(folder, temporary), "");
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw denied("run");
    });
    const lock = await lockFolder(folder, "w", quick);
    await lock.release();
    expect(await readdir(folder)).toEqual([temporary]);
  });
});

test("where the name of the host is not told, a lock works without it", async () => {
  vi.resetModules();
  host.isDenied = true;
  const { lockFolder: lockAnew } = await import("../src/folder-lock.node.js");
  const folder = path("nameless");
  await mkdir(folder);
  const lock = await lockAnew(folder, "w", quick);
  await expectError(() => lockAnew(folder, "w", quick), {
    code: "locked",
    names: ["without a name"],
  });
  await lock.release();
  expect(await readdir(folder)).toEqual([]);
});

test("what is refused without a code is told in the words of the runtime", () => {
  const error = ioError(denied("write"), "runs", "could not be made");
  expect(error.message).toContain('"runs" could not be made (NotCapable: Requires write access)');
  expect(error).toMatchObject({ code: "io", details: { path: "runs" } });
  expect(error.details).not.toHaveProperty("errno");
});
