import type * as Files from "node:fs";
import { type FileSink, fileSink, fileSource } from "@tensorjar/core/node";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { expectError, sameBytes } from "../../../tooling/testing.js";
import { turns } from "./deferred.js";
import { pattern } from "./pattern.js";

/** What the disk does wrong: the operation of that number fails; a write takes no more than so many bytes. */
const disk = vi.hoisted(() => ({
  operations: 0,
  failing: Number.POSITIVE_INFINITY,
  code: "EIO",
  only: undefined as string | undefined,
  longestWrite: Number.POSITIVE_INFINITY,
  writes: [] as number[],
  memory: new Set<ArrayBufferLike>(),
  failed: undefined as string | undefined,
  /** Where it is set, writes wait in it until they are called. */
  held: undefined as (() => void)[] | undefined,
  closed: 0,
}));

type Write = [
  fd: number,
  data: Uint8Array,
  at: number,
  length: number,
  position: number,
  done: (cause: Error | null, count: number) => void,
];

vi.mock("node:fs", async (original) => {
  const real: typeof Files = await original();
  const fault = (name: string): Error | undefined => {
    if (disk.only !== undefined && disk.only !== name) return undefined;
    if (++disk.operations !== disk.failing) return undefined;
    disk.failed = name;
    return Object.assign(new Error(`${disk.code}: ${name}`), { code: disk.code });
  };
  type Call = (...args: never[]) => unknown;
  const sync =
    (name: string, call: Call) =>
    (...args: unknown[]): unknown => {
      const failure = fault(name);
      if (failure !== undefined) throw failure;
      return Reflect.apply(call, undefined, args);
    };
  const async =
    (name: string, call: Call) =>
    (...args: unknown[]): unknown => {
      const failure = fault(name);
      if (failure === undefined) return Reflect.apply(call, undefined, args);
      const [fd] = args;
      const done = args.at(-1);
      if (name === "close" && typeof fd === "number") real.closeSync(fd); // a failed one closes all the same
      if (typeof done === "function") queueMicrotask(() => done(failure));
      return undefined;
    };
  return {
    ...real,
    statSync: sync("stat", real.statSync),
    lstatSync: sync("lstat", real.lstatSync),
    realpathSync: sync("realpath", real.realpathSync),
    openSync: sync("open", real.openSync),
    fchmodSync: sync("fchmod", real.fchmodSync),
    linkSync: sync("link", real.linkSync),
    renameSync: sync("rename", real.renameSync),
    fsync: async("fsync", real.fsync),
    close: async("close", (...args: Parameters<typeof real.close>) => {
      disk.closed++;
      return real.close(...args);
    }),
    write: async("write", (...[fd, data, at, length, position, done]: Write) => {
      disk.writes.push(length);
      disk.memory.add(data.buffer);
      const go = (): void =>
        real.write(fd, data, at, Math.min(length, disk.longestWrite), position, done);
      return disk.held === undefined ? go() : disk.held.push(go);
    }),
  };
});

const fs = await vi.importActual<typeof Files>("node:fs");
const folder = temporaryFolder();
const bytes = pattern(2_700_000);

beforeEach(() => {
  Object.assign(disk, {
    operations: 0,
    failing: Number.POSITIVE_INFINITY,
    code: "EIO",
    only: undefined,
    longestWrite: Number.POSITIVE_INFINITY,
    writes: [],
    memory: new Set(),
    failed: undefined,
    held: undefined,
    closed: 0,
  });
});

async function save(path: string, options: Parameters<typeof fileSink>[1] = {}): Promise<void> {
  const sink = fileSink(path, options);
  await sink.write(bytes.subarray(0, 500_000));
  for (let at = 500_000; at < bytes.length; at += 100_000) {
    await sink.write(bytes.subarray(at, at + 100_000));
  }
  await sink.rewrite(0, bytes.subarray(0, 10));
  await sink.close();
}

describe.each([
  ["replacing a file", { ifExists: "replace" }, true],
  ["making a file", { ifExists: "error" }, false],
] as const)("a disk that fails, %s", (_, options, replaces) => {
  test("at any operation gives io, the old file or the new one whole, and no litter", async () => {
    const path = folder.path("target");
    const names = new Set<string>();
    for (let failing = 1; ; failing++) {
      fs.rmSync(path, { force: true });
      if (replaces) {
        fs.writeFileSync(path, "old");
        fs.chmodSync(path, 0o666); // another mode than the umask gives
      }
      Object.assign(disk, { operations: 0, failing, failed: undefined });
      const outcome = await save(path, options).catch((error: unknown) => error);
      const now = fs.existsSync(path) ? new Uint8Array(fs.readFileSync(path)) : undefined;
      const old = replaces ? now?.length === 3 : now === undefined;
      expect(folder.list()).toEqual(now === undefined ? [] : ["target"]);
      if (disk.failed === undefined) {
        expect(outcome).toBeUndefined();
        break;
      }
      names.add(disk.failed);
      expect(old || sameBytes(now ?? bytes.subarray(1), bytes)).toBe(true);
      if (outcome === undefined) {
        expect(disk.failed).toBe("open"); // of the folder, which not every system opens
        expect(old).toBe(false);
      } else {
        expect(outcome).toMatchObject({ code: "io", details: { errno: "EIO", path } });
      }
    }
    const both = ["close", "fsync", "lstat", "open", "realpath", "stat", "write"];
    expect([...names].sort()).toEqual(
      [...both, ...(replaces ? ["fchmod", "rename"] : ["link"])].sort(),
    );
  });
});

describe("Node's permission model, which has neither fsync nor fchmod,", () => {
  test("is told with the way out", async () => {
    Object.assign(disk, { only: "fsync", failing: 1, code: "ERR_ACCESS_DENIED" });
    const path = folder.path("durable");
    await expectError(() => save(path), { code: "io", names: ["permission", "durable: false"] });
    expect(fs.existsSync(path)).toBe(false);
  });

  test("does not hinder replacing a file that has the usual mode", async () => {
    const path = folder.path("replaced");
    fs.writeFileSync(path, "old");
    Object.assign(disk, { only: "fchmod", failing: 1, code: "ERR_ACCESS_DENIED" });
    await save(path, { durable: false });
    expect(fs.statSync(path).size).toBe(bytes.length);
  });
});

describe("what is written while more is gathered", () => {
  /** A sink that writes the first of these chunks, and has gathered the last. */
  async function busy(path: string): Promise<FileSink> {
    const sink = fileSink(path, { durable: false });
    for (let i = 0; i < 11; i++) await sink.write(part(i));
    return sink;
  }

  function part(i: number): Uint8Array {
    return bytes.subarray(i * 100_000, (i + 1) * 100_000);
  }

  test("stays as it was, whatever is gathered before the disk takes it", async () => {
    const path = folder.path("slow");
    const held: (() => void)[] = [];
    disk.held = held;
    const sink = await busy(path);
    for (let i = 11; i < 20; i++) await sink.write(part(i));
    expect(held.length).toBe(1);
    disk.held = undefined;
    held[0]?.();
    await sink.close();
    expect(sameBytes(new Uint8Array(fs.readFileSync(path)), bytes.subarray(0, 2_000_000))).toBe(
      true,
    );
    fs.rmSync(path);
  });

  test("takes memory that is used again, also by the next sink, as long as nobody fills it", async () => {
    const parts = [part(0), bytes.subarray(100_000, 500_000), part(5)];
    const begun = async (name: string): Promise<FileSink> => {
      const sink = fileSink(folder.path(name), { durable: false });
      for (const chunk of parts) await sink.write(chunk);
      return sink;
    };
    const names = ["one", "two", "three", "four"];
    for (const name of names) await (await begun(name)).close();
    disk.memory.delete(bytes.buffer); // of the chunk that is not gathered
    expect(disk.memory.size).toBe(1);
    const open: FileSink[] = [];
    for (const name of names) open.push(await begun(name));
    for (const sink of open) await sink.close();
    disk.memory.delete(bytes.buffer);
    expect(disk.memory.size).toBe(names.length);
    for (const name of names) {
      const content = new Uint8Array(fs.readFileSync(folder.path(name)));
      expect(sameBytes(content, bytes.subarray(0, 600_000))).toBe(true);
      fs.rmSync(folder.path(name));
    }
  });

  test("is over before the file is closed, whatever ends the sink", async () => {
    const path = folder.path("busy");
    const ends: Record<string, (sink: FileSink) => Promise<void>> = {
      abort: (sink) => sink.abort(),
      failure: async (sink) =>
        void (await expectError(() => sink.rewrite(-1, bytes), { code: "invalid-argument" })),
    };
    for (const end of Object.values(ends)) {
      const held: (() => void)[] = [];
      Object.assign(disk, { held, closed: 0 });
      const ended = end(await busy(path));
      await turns();
      expect(folder.list()).not.toContain("busy");
      expect(folder.list().some((name) => name.startsWith("."))).toBe(false);
      expect([held.length, disk.closed]).toEqual([1, 0]);
      held[0]?.();
      await ended;
      expect([held.length, disk.closed]).toEqual([1, 1]);
    }
  });

  test("fails the next call that has to wait for it, and each one after; no file is saved", async () => {
    const path = folder.path("failed");
    for (const call of ["write", "rewrite", "close"] as const) {
      Object.assign(disk, { only: "write", operations: 0, failing: 1, closed: 0 });
      const sink = await busy(path);
      await new Promise((resolve) => setImmediate(resolve)); // nobody waits for it yet
      const calls = {
        write: () => sink.write(bytes.subarray(0, 300_000)),
        rewrite: () => sink.rewrite(0, bytes.subarray(0, 1)),
        close: () => sink.close(),
      };
      const error = await expectError(calls[call], { code: "io", names: ["failed", "EIO"] });
      expect(folder.list().some((name) => /^[.]|^failed$/.test(name))).toBe(false);
      for (const again of Object.values(calls)) await expect(again()).rejects.toBe(error);
      await sink.abort();
      expect(disk.closed).toBe(1);
    }
  });
});

describe("short writes", () => {
  test.each([1, 3_000, 777_777])("of at most %i bytes are continued", async (longest) => {
    const path = folder.path("short");
    disk.longestWrite = longest;
    const data = bytes.subarray(0, longest === 1 ? 2_000 : 1_200_000);
    const sink = fileSink(path, { durable: false });
    await sink.write(data);
    await sink.close();
    expect(sameBytes(new Uint8Array(fs.readFileSync(path)), data)).toBe(true);
    expect(disk.writes.length).toBeGreaterThanOrEqual(Math.ceil(data.length / longest));
  });

  test("of no bytes at all are a full disk, not a loop", async () => {
    disk.longestWrite = 0;
    const path = folder.path("short");
    const error = await expectError(() => save(path), { code: "io", names: ["disk is full"] });
    expect(error.details.errno).toBe("ENOSPC");
    expect(folder.list().some((name) => name.startsWith("."))).toBe(false);
  });
});

test("no system call takes more than 64 MiB, and small chunks share one", async () => {
  const sink = fileSink(folder.path("calls"), { durable: false });
  await sink.write(new Uint8Array(70 << 20));
  for (let i = 0; i < 1_000; i++) await sink.write(new Uint8Array(1024));
  await sink.close();
  expect(Math.max(...disk.writes)).toBeLessThanOrEqual(64 << 20);
  expect(disk.writes.reduce((sum, length) => sum + length, 0)).toBe((70 << 20) + 1_024_000);
  expect(disk.writes.length).toBeLessThan(15);
  fs.rmSync(folder.path("calls"));
});

describe("a disk without hard links", () => {
  test.each(["EPERM", "ENOTSUP", "ENOSYS"])("(%s) still takes a free name only", async (code) => {
    const path = folder.path(`no-links-${code}`);
    Object.assign(disk, { only: "link", code, failing: 1 });
    await save(path, { ifExists: "error" });
    expect(sameBytes(new Uint8Array(fs.readFileSync(path)), bytes)).toBe(true);
    Object.assign(disk, { operations: 0 });
    const sink = fileSink(folder.path("taken"), { ifExists: "error" });
    await sink.write(bytes);
    fs.writeFileSync(folder.path("taken"), "other");
    await expectError(() => sink.close(), { code: "already-exists" });
    expect(fs.readFileSync(folder.path("taken"), "latin1")).toBe("other");
    expect(folder.list().some((name) => name.startsWith("."))).toBe(false);
    fs.rmSync(folder.path("taken"));
  });
});

test.each(["EINVAL", "ENOTSUP"])(
  "a folder that cannot be synced (%s) is no failure",
  async (code) => {
    Object.assign(disk, { only: "fsync", code, failing: 2 });
    await save(folder.path("unsynced"));
    expect(disk.failed).toBe("fsync");
  },
);

test("a disk that fails while reading gives io with the system's code", async () => {
  const path = folder.path("bad-sector");
  fs.writeFileSync(path, bytes);
  const { open } = await import("node:fs/promises");
  const handle = await open(path);
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  const source = await fileSource(path);
  const spy = vi.spyOn(prototype, "read").mockImplementation(async () => {
    throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
  });
  const error = await expectError(() => source.read(0, 10), { code: "io", names: ["bad-sector"] });
  expect(error.details.errno).toBe("EIO");
  spy.mockRestore();
  expect(sameBytes(await source.read(0, 10), bytes.subarray(0, 10))).toBe(true);
  await source.close?.();
});
