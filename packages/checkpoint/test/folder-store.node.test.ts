import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { folderStore } from "@tensorjar/checkpoint/node";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { expectError } from "../../../tooling/testing.js";
import { lockFolder } from "../src/folder-lock.node.js";
import { storeSuite } from "./store-suite.js";

const { path } = temporaryFolder();
let folders = 0;
const newFolder = () => path(`folder-${folders++}`, "deeper");
const list = async (folder: string) => (await readdir(folder).catch(() => [])).sort();

storeSuite("folderStore", async () => {
  const folder = newFolder();
  return {
    store: folderStore(folder),
    again: () => folderStore(pathToFileURL(folder)),
    litter: () => list(folder),
  };
});

/** A number that no process has: that of a child that has ended. */
async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  if (child.pid === undefined) throw new Error("the child did not start");
  return child.pid;
}

/** What the claim of another process on a lock is called: as our own, with some of it changed. */
async function claimOf(
  folder: string,
  name: string,
  other: { host?: string; pid?: number; started?: string },
): Promise<string> {
  const lock = await folderStore(folder).lock?.(name);
  const own =
    (await list(folder)).find((file) => file.startsWith(`.tensorjar-lock-${name}-`)) ?? "";
  await lock?.release();
  const [, host, pid, started, uuid] =
    /-([0-9a-f]{8})-(\d+)-(\d*)-([0-9a-f-]{36})$/.exec(own) ?? [];
  return `.tensorjar-lock-${name}-${other.host ?? host}-${other.pid ?? pid}-${other.started ?? started}-${uuid}`;
}

describe("a folder", () => {
  test("is only ever cleaned of what a dead writer left", async () => {
    const folder = newFolder();
    await mkdir(folder, { recursive: true });
    const uuid = "00000000-0000-4000-8000-000000000000";
    const dead = await deadProcess();
    const left = [`.tensorjar-${dead}-${uuid}.tmp`, await claimOf(folder, "writer", { pid: dead })];
    const others = [
      `.tensorjar-${process.ppid}-${uuid}.tmp`,
      `.tensorjar-${await deadProcess()}-${uuid}.tmp`, // of a process that never held the lock, perhaps elsewhere
      ".tensorjar-notes",
      "notes.txt",
      "step-000000000001.safetensors.tmp",
    ];
    for (const name of [...left, ...others]) await writeFile(join(folder, name), "x");
    const store = folderStore(folder);
    await store.put("a", [Uint8Array.of(1)]);
    expect(await list(folder)).toEqual([...left, ...others, "a"].sort());
    const lock = await store.lock?.("writer");
    await lock?.release();
    expect(await list(folder)).toEqual([...others, "a"].sort());
  });

  test("takes over the lock of a process that is gone, at once", async () => {
    const folder = newFolder();
    await mkdir(folder, { recursive: true });
    const dead = await claimOf(folder, "writer", { pid: await deadProcess() });
    const earlier = await claimOf(folder, "writer", { started: "1" }); // of the same number as this process
    for (const name of [dead, earlier]) await writeFile(join(folder, name), '{"state":"held"}');
    const lock = await folderStore(folder).lock?.("writer");
    expect(await list(folder)).toHaveLength(1);
    await lock?.release();
    expect(await list(folder)).toEqual([]);
  });

  test("takes over the lock of another host only once it has been silent, and tells the one that was away", async () => {
    const folder = newFolder();
    await mkdir(folder, { recursive: true });
    const file = join(folder, await claimOf(folder, "writer", { host: "00000000" }));
    const claim = (beats: number) =>
      JSON.stringify({ host: "elsewhere", pid: 1, state: "held", beats });
    await writeFile(file, claim(0));
    const quick = { beat: 5, silence: 120, poll: 5 };
    let beats = 0;
    const alive = setInterval(() => void writeFile(file, claim(++beats)), 10);
    await expectError(() => lockFolder(folder, "writer", quick), {
      code: "locked",
      names: ["process 1 on elsewhere"],
    });
    clearInterval(alive);
    const taken = await lockFolder(folder, "writer", quick);
    expect(await list(folder)).toHaveLength(1);
    await taken.check?.();
    // Another host, which believes this one dead, takes its claim away.
    await rm(join(folder, (await list(folder))[0] ?? ""));
    await expectError(() => taken.check?.(), { code: "locked", names: ["taken over"] });
    await taken.release();
    expect(await list(folder)).toEqual([]);
  });

  test("says which process holds its lock", async () => {
    const store = folderStore(newFolder());
    const lock = await store.lock?.("writer");
    await expectError(() => store.lock?.("writer"), {
      code: "locked",
      names: [`process ${process.pid}`],
    });
    await lock?.release();
  });

  test("tells faults of the disk with the system's code", async () => {
    const file = path("file");
    await writeFile(file, "x");
    await expectError(() => folderStore(file).put("a", []), { code: "io", names: ["file"] });
    await expectError(() => folderStore(join(file, "b")).put("a", []), { code: "io" });
    const folder = newFolder();
    await mkdir(join(folder, "a"), { recursive: true });
    const store = folderStore(folder);
    expect(await store.stat("a")).toBe(undefined);
    await expectError(() => store.open("a"), { code: "not-found" });
    await expectError(() => store.put("a", [Uint8Array.of(1)]), {
      code: "io",
      names: ["EISDIR|ENOTEMPTY|EEXIST"],
    });
    expect(await list(folder)).toEqual(["a"]);
  });

  test("is named by a path or a file: URL, also as a string, and by nothing else", async () => {
    const folder = newFolder();
    await folderStore(pathToFileURL(folder).href).put("a", [Uint8Array.of(1)]);
    expect(await list(folder)).toEqual(["a"]);
    const wrong = ["", "https://a.b/c", new URL("https://a.b/c"), "file://host/a", 5, null];
    for (const path of [...wrong, "a\0b", "file:///a%00b"]) {
      await expectError(() => folderStore(path as string), {
        code: "invalid-argument",
        names: ["folder"],
      });
    }
  });

  test("may be reached through a link", async () => {
    const folder = newFolder();
    await mkdir(folder, { recursive: true });
    await symlink(folder, path("link"));
    await folderStore(path("link")).put("a", [Uint8Array.of(1)]);
    expect(await list(folder)).toEqual(["a"]);
  });
});
