import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { open } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { type ByteSource, readChunks } from "@tensorjar/core";
import { readsParts, toSource } from "@tensorjar/core/codec";
import { fileSource } from "@tensorjar/core/node";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { expectError, sameBytes } from "../../../tooling/testing.js";
import { extras } from "../src/source.js";
import { deferred, turns } from "./deferred.js";
import { pattern } from "./pattern.js";

const folder = temporaryFolder();
const bytes = pattern(10_000);

function write(name: string, data: Uint8Array = bytes): string {
  const path = folder.path(name);
  fs.writeFileSync(path, data);
  return path;
}

describe("fileSource", () => {
  test("reads any range, into a destination too", async () => {
    const source = await fileSource(write("a"));
    expect(source.size).toBe(10_000);
    expect(sameBytes(await source.read(0, 10_000), bytes)).toBe(true);
    expect(await source.read(9_999, 1)).toEqual(bytes.subarray(-1));
    expect(await source.read(10_000, 0)).toEqual(new Uint8Array(0));
    const into = new Uint8Array(7).fill(9);
    const read = await source.read(5, 4, { into });
    expect(read.buffer).toBe(into.buffer);
    expect([...into]).toEqual([...bytes.subarray(5, 9), 9, 9, 9]);
    await source.close?.();
  });

  test("reads long ranges in pieces, to the byte", async () => {
    const long = pattern((21 << 20) + 13);
    const source = await fileSource(write("long", long));
    const into = new Uint8Array(long.length - 7);
    expect(sameBytes(await source.read(7, into.length, { into }), long.subarray(7))).toBe(true);
    let at = 0;
    for await (const chunk of readChunks(source)) {
      expect(sameBytes(chunk, long.subarray(at, at + chunk.length))).toBe(true);
      at += chunk.length;
    }
    expect(at).toBe(long.length);
    await source.close?.();
    fs.rmSync(folder.path("long"));
  });

  test("many reads at once give each its own bytes", async () => {
    const source = await fileSource(write("many"));
    const reads = Array.from({ length: 500 }, (_, i) => source.read(i * 20, 20));
    const parts = await Promise.all(reads);
    expect(parts.every((part, i) => sameBytes(part, bytes.subarray(i * 20, i * 20 + 20)))).toBe(
      true,
    );
    await source.close?.();
  });

  test("reads empty files", async () => {
    const source = await fileSource(write("empty", new Uint8Array(0)));
    expect(source.size).toBe(0);
    expect(await source.read(0, 0)).toEqual(new Uint8Array(0));
    await expectError(() => source.read(0, 1), { code: "truncated" });
    await source.close?.();
  });

  test("takes file URLs, as text too, and odd names", async () => {
    const url = pathToFileURL(write("100% ü?#.bin"));
    for (const path of [url, url.href, url.href.replace("file://", "file:")]) {
      const source = await fileSource(path);
      expect(await source.read(0, 3)).toEqual(bytes.subarray(0, 3));
      await source.close?.();
    }
  });

  test("refuses ranges that are not there", async () => {
    const source = await fileSource(write("b"));
    await expectError(() => source.read(9_999, 2), { code: "truncated" });
    await expectError(() => source.read(-1, 2), { code: "invalid-argument" });
    await expectError(() => source.read(0, 2 ** 53), { code: "invalid-argument" });
    await expectError(() => source.read(0, 2, { into: new Uint8Array(1) }), {
      code: "invalid-argument",
    });
    await source.close?.();
  });

  test("names what it cannot open", async () => {
    const missing = await expectError(() => fileSource(folder.path("none")), {
      code: "not-found",
      names: ["none", "ENOENT"],
    });
    expect(missing.details).toMatchObject({ errno: "ENOENT", path: folder.path("none") });
    const dir = await expectError(() => fileSource(folder.path()), {
      code: "io",
      names: ["folder"],
    });
    expect(dir.details.errno).toBe("EISDIR");
    await expectError(() => fileSource(folder.path("a", "b")), { code: "io", names: ["ENOTDIR"] });
    for (const wrong of ["a\0b", "file:///a%00b", "file://host/a", "file:///a%2fb", 7, undefined]) {
      // @ts-expect-error: not all are strings
      await expectError(() => fileSource(wrong), { code: "invalid-argument" });
    }
    for (const url of ["https://me:word@host/a?token=abc", "HTTP:host/a"]) {
      for (const wrong of [url, new URL(url)]) {
        const error = await expectError(() => fileSource(wrong), {
          code: "invalid-argument",
          names: ["host/a", "httpSource"],
        });
        expect(JSON.stringify([error.message, error.details])).not.toMatch(/word|abc/);
        expect(error.cause).toBeUndefined();
      }
    }
  });

  test("does not wait for the other end of a pipe", async () => {
    const pipe = folder.path("pipe");
    execFileSync("mkfifo", [pipe]);
    const error = await expectError(() => fileSource(pipe), { code: "io", names: ["regular"] });
    expect(error.details.errno).toBe("ESPIPE");
  });

  test.skipIf(process.getuid?.() === 0)("names missing permissions", async () => {
    const path = write("secret");
    fs.chmodSync(path, 0);
    const error = await expectError(() => fileSource(path), { code: "io", names: ["permissions"] });
    expect(error.details.errno).toBe("EACCES");
  });
});

describe("reading into several arrays at once", () => {
  /** What the source reads into arrays of these lengths, from `offset` on. */
  async function parts(
    source: ByteSource,
    offset: number,
    lengths: number[],
  ): Promise<Uint8Array[]> {
    const filled = lengths.map((length) => new Uint8Array(length));
    await extras.get(source.read)?.()?.readParts(offset, filled);
    return filled;
  }

  test.each([
    ["some", [3, 0, 5_000, 0, 1, 17]],
    ["none", []],
    ["empty ones", [0, 0]],
    ["more than the system takes at a time", Array.from({ length: 2_500 }, (_, i) => i % 5)],
  ])("fills %s, each with the bytes after the ones before", async (_, lengths) => {
    const source = await fileSource(write("parts"));
    let at = 11;
    for (const part of await parts(source, at, lengths)) {
      expect(sameBytes(part, bytes.subarray(at, at + part.length))).toBe(true);
      at += part.length;
    }
    expect(at).toBe(lengths.reduce((sum, length) => sum + length, 11));
    await source.close?.();
  });

  test("goes on where the system stops early", async () => {
    const path = write("early");
    const handle = await open(path);
    const prototype = Object.getPrototypeOf(handle);
    await handle.close();
    const { readv } = prototype;
    const spy = vi.spyOn(prototype, "readv").mockImplementation(function (
      this: unknown,
      ...[parts, ...rest]: unknown[]
    ) {
      const [first, ...others] = parts as Uint8Array[]; // as it is called
      return readv.call(this, [first?.subarray(0, 7), ...(first?.length ? [] : others)], ...rest);
    });
    try {
      const source = await fileSource(path);
      const [a, b] = await parts(source, 2, [20, 9]);
      expect(a).toEqual(bytes.subarray(2, 22));
      expect(b).toEqual(bytes.subarray(22, 31));
      expect(spy).toHaveBeenCalledTimes(5);
      await source.close?.();
    } finally {
      spy.mockRestore();
    }
  });

  test("fails as reading does", async () => {
    const path = write("failing");
    const source = await fileSource(path);
    await expectError(() => parts(source, 9_990, [5, 6]), { code: "truncated" });
    await expectError(() => parts(source, -1, [5]), { code: "invalid-argument" });
    const reason = new Error("enough");
    const into = [new Uint8Array(5)];
    const cancelled = extras.get(source.read)?.()?.readParts(0, into, AbortSignal.abort(reason));
    await expect(cancelled).rejects.toBe(reason);
    fs.truncateSync(path, 4);
    await expectError(() => parts(source, 0, [5, 6]), { code: "source-changed" });
    await source.close?.();
    await expectError(() => parts(source, 0, [1]), { code: "invalid-argument", names: ["closed"] });
  });

  test("is not what a source has that reads in another way", async () => {
    const source = await fileSource(write("spread"));
    expect(Object.keys(source)).toEqual(["size", "read", "close"]);
    const { read } = source;
    const made = [
      { ...source, read: source.read.bind(source) },
      Object.create(source, { read: { value: source.read.bind(source) } }),
      Object.assign(source, { read: source.read.bind(source) }),
    ];
    for (const one of made) expect(readsParts(one)).toBe(false);
    const same = { ...source, read };
    expect(readsParts(same)).toBe(true);
    const opened = await toSource(same);
    expect(readsParts(opened)).toBe(true);
    same.read = source.read.bind(source); // after it was opened, too
    expect(readsParts(opened)).toBe(false);
    await source.close?.();
  });
});

describe("a file that is written to while it is open", () => {
  test.each([
    ["grew", (path: string) => fs.appendFileSync(path, "x")],
    ["shrank", (path: string) => fs.truncateSync(path, 5_000)],
    ["has another time", (path: string) => fs.utimesSync(path, 1, 1)],
  ])("%s: source-changed, from then on", async (_, change) => {
    const path = write("changing");
    const source = await fileSource(path);
    await source.read(0, 10);
    change(path);
    await expectError(() => source.read(0, 10), { code: "source-changed", names: ["changing"] });
    await expectError(() => source.read(6_000, 10), { code: "source-changed" });
    await source.close?.();
  });

  test("keeps its content when another takes its name", async () => {
    const path = write("replaced");
    const source = await fileSource(path);
    fs.renameSync(write("new", new Uint8Array(3)), path);
    expect(sameBytes(await source.read(0, 10_000), bytes)).toBe(true);
    fs.rmSync(path);
    expect(await source.read(0, 10)).toEqual(bytes.subarray(0, 10));
    await source.close?.();
  });
});

describe("closing", () => {
  test("is idempotent, and ends reading", async () => {
    const source = await fileSource(write("c"));
    const reading = source.read(0, 10_000);
    await Promise.all([source.close?.(), source.close?.()]);
    await source.close?.();
    expect(sameBytes(await reading, bytes)).toBe(true);
    await expectError(() => source.read(0, 1), { code: "invalid-argument", names: ["closed"] });
    await expectError(() => source.read(0, 0), { code: "invalid-argument" });
  });

  test("opening and failing leaves nothing open", async () => {
    const openFiles = (): number | undefined =>
      fs.existsSync("/proc/self/fd") ? fs.readdirSync("/proc/self/fd").length : undefined;
    await expectError(() => fileSource(folder.path()));
    const before = openFiles();
    for (let i = 0; i < 50; i++) {
      await expectError(() => fileSource(folder.path()));
      const source = await fileSource(write("d"));
      await source.close?.();
    }
    const after = openFiles();
    expect(Math.abs((after ?? 0) - (before ?? 0))).toBeLessThan(25);
  });
});

describe("cancelling a read", () => {
  const reason = new Error("enough");

  test("rejects although another listener has stopped the event", async () => {
    const source = await fileSource(write("stopped", pattern(30 << 20)));
    const controller = new AbortController();
    const { signal } = controller;
    signal.addEventListener("abort", (event) => event.stopImmediatePropagation());
    const reading = source.read(0, source.size, { signal }).then(() => "given away");
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await source.close?.();
  });

  test("rejects at once and starts no other piece", async () => {
    const path = write("cancelled", pattern(40 << 20));
    const handle = await open(path);
    const prototype = Object.getPrototypeOf(handle);
    await handle.close();
    const held = deferred<void>();
    const { read } = prototype;
    const spy = vi.spyOn(prototype, "read").mockImplementation(async function (
      this: unknown,
      ...args: unknown[]
    ) {
      await held.promise;
      return read.apply(this, args);
    });
    const source = await fileSource(path);
    const controller = new AbortController();
    const into = new Uint8Array(40 << 20); // memory of the caller's is waited for no longer
    const reading = source.read(0, into.length, { into, signal: controller.signal });
    await turns();
    expect(spy.mock.calls.length).toBe(4);
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    held.resolve();
    await source.close?.(); // waits for the four pieces
    expect(spy.mock.calls.length).toBe(4);
    for (const [, , length] of spy.mock.calls) expect(length).toBe(4 << 20);
    spy.mockRestore();
    const next = await fileSource(path);
    await expect(next.read(0, 1, { signal: controller.signal })).rejects.toBe(reason);
    await next.close?.();
    fs.rmSync(path);
  });
});
