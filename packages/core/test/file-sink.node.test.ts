import * as fs from "node:fs";
import { pathToFileURL } from "node:url";
import { writeChunks } from "@tensorjar/core/codec";
import { type FileSinkOptions, fileSink } from "@tensorjar/core/node";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { expectError, sameBytes } from "../../../tooling/testing.js";
import { deferred, turns } from "./deferred.js";
import { pattern } from "./pattern.js";

const folder = temporaryFolder();
const bytes = pattern(3 << 20);

async function save(path: string, data: Uint8Array, options?: FileSinkOptions): Promise<void> {
  const sink = fileSink(path, options);
  await sink.write(data);
  await sink.close();
}

function read(path: string): Uint8Array {
  return new Uint8Array(fs.readFileSync(path));
}

function littered(): boolean {
  return folder.list().some((name) => name.startsWith(".tensorjar-"));
}

describe("fileSink", () => {
  test("writes chunks of every size one after another", async () => {
    const path = folder.path("sizes");
    const sink = fileSink(path);
    const lengths = [0, 1, 100_000, 262_144, 262_145, 5, 900_000, 3, 700_000, 262_144, 262_144];
    let at = 0;
    for (const length of lengths) {
      const chunk = bytes.slice(at, at + length);
      await sink.write(chunk);
      chunk.fill(0); // it is the caller's again
      at += length;
    }
    await sink.close();
    expect(sameBytes(read(path), bytes.subarray(0, at))).toBe(true);
  });

  test("makes the file that any calls in any order tell of, awaited or not", async () => {
    const path = folder.path("any");
    const edges = [0, 1, 1_000, 200_000, 262_143, 262_144, 262_145, 1 << 20, (1 << 20) + 1];
    const call = fc.record({
      length: fc.oneof(fc.constantFrom(...edges), fc.nat(400_000)),
      from: fc.nat(1 << 20),
      rewrite: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { freq: 4 }),
      awaited: fc.boolean(),
    });
    const calls = fc.array(call, { minLength: 1, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(calls, async (made) => {
        const sink = fileSink(path, { durable: false });
        const model = new Uint8Array(25 * ((1 << 20) + 1));
        let size = 0;
        const all: Promise<void>[] = [];
        for (const { length, from, rewrite, awaited } of made) {
          const chunk = bytes.slice(
            from,
            from + (rewrite === null ? length : Math.min(length, size)),
          );
          const at = rewrite === null ? size : Math.floor(rewrite * (size - chunk.length));
          model.set(chunk, at);
          size = Math.max(size, at + chunk.length);
          const done = rewrite === null ? sink.write(chunk) : sink.rewrite(at, chunk);
          all.push(done);
          if (!awaited) continue;
          await done;
          chunk.fill(0); // it is the caller's again
        }
        await Promise.all([...all, sink.close()]);
        expect(Buffer.compare(fs.readFileSync(path), model.subarray(0, size))).toBe(0);
      }),
      { numRuns: 50 },
    );
    expect(littered()).toBe(false);
  });

  test("is done with a chunk once it is written, which a copy with another `write` may not be", () => {
    const sink = fileSink(folder.path("unused"));
    expect(sink.transient).toBe(true);
    expect({ ...sink }.transient).toBeUndefined();
  });

  test("writes a chunk longer than one system call takes", async () => {
    const path = folder.path("long");
    const long = pattern((17 << 20) + 3);
    await save(path, long, { durable: false });
    expect(sameBytes(read(path), long)).toBe(true);
    fs.rmSync(path);
  });

  test("calls that are not awaited happen in order", async () => {
    const path = folder.path("order");
    const sink = fileSink(path);
    const writes = Array.from({ length: 100 }, (_, i) => sink.write(bytes.subarray(i, i + 1)));
    const closing = sink.close();
    await Promise.all([...writes, closing]);
    expect(read(path)).toEqual(bytes.slice(0, 100));
  });

  test("is not seen before it is closed, and replaces what was there as a whole", async () => {
    const path = folder.path("whole");
    fs.writeFileSync(path, "old");
    const sink = fileSink(path);
    await sink.write(bytes);
    await sink.write(bytes.subarray(0, 5));
    expect(fs.readFileSync(path, "latin1")).toBe("old");
    expect(
      folder.list().filter((name) => /^\.tensorjar-\d+-[\da-f-]+\.tmp$/.test(name)).length,
    ).toBe(1);
    await sink.close();
    expect(fs.statSync(path).size).toBe(bytes.length + 5);
    expect(littered()).toBe(false);
  });

  test("opens nothing before the first write, and makes an empty file when there is none", async () => {
    const before = folder.list();
    const unused = fileSink(folder.path("unused"));
    expect(folder.list()).toEqual(before);
    await unused.abort();
    expect(folder.list()).toEqual(before);
    await fileSink(folder.path("empty")).close();
    expect(read(folder.path("empty")).length).toBe(0);
  });

  test("rewrites bytes written before", async () => {
    const path = folder.path("rewritten");
    const sink = fileSink(path);
    await sink.write(bytes.subarray(0, 400_000));
    await sink.write(bytes.subarray(0, 10));
    await sink.rewrite(5, Uint8Array.of(1, 2, 3));
    await sink.rewrite(399_999, Uint8Array.of(7, 8));
    await sink.write(Uint8Array.of(9));
    await sink.close();
    const expected = new Uint8Array(400_011);
    expected.set(bytes.subarray(0, 400_000));
    expected.set(bytes.subarray(0, 10), 400_000);
    expected.set([9], 400_010);
    expected.set([1, 2, 3], 5);
    expected.set([7, 8], 399_999);
    expect(sameBytes(read(path), expected)).toBe(true);
    for (const offset of [-1, 0.5, 4]) {
      const other = fileSink(folder.path("other"));
      await other.write(Uint8Array.of(1, 2, 3));
      await expectError(() => other.rewrite(offset, Uint8Array.of(1)), {
        code: "invalid-argument",
      });
    }
    expect(littered()).toBe(false);
  });

  test("takes file URLs; refuses what is no path, no option and no bytes", async () => {
    const path = folder.path("url ü");
    await save(pathToFileURL(path).href, bytes.subarray(0, 3));
    expect(read(path)).toEqual(bytes.slice(0, 3));
    // @ts-expect-error: not a path
    await expectError(() => fileSink(5), { code: "invalid-argument" });
    // @ts-expect-error: not an option
    await expectError(() => fileSink(path, { ifExists: "append" }), { code: "invalid-argument" });
    // @ts-expect-error: not bytes
    await expectError(() => save(path, "text"), { code: "invalid-argument" });
    expect(littered()).toBe(false);
  });

  test("follows the working directory of the moment it was made", async () => {
    const before = process.cwd();
    process.chdir(folder.path());
    try {
      const sink = fileSink("relative");
      process.chdir(before);
      await sink.write(bytes.subarray(0, 2));
      await sink.close();
    } finally {
      process.chdir(before);
    }
    expect(read(folder.path("relative"))).toEqual(bytes.slice(0, 2));
  });

  test("gives names as long as the disk takes them", async () => {
    const path = folder.path("n".repeat(255));
    await save(path, bytes.subarray(0, 4));
    expect(read(path)).toEqual(bytes.slice(0, 4));
  });
});

describe("what was there before", () => {
  test("keeps its mode, and a new file has the usual one", async () => {
    const path = folder.path("mode");
    await save(path, bytes.subarray(0, 1));
    expect(fs.statSync(path).mode & 0o777).toBe(0o666 & ~process.umask());
    for (const mode of [0o600, 0o640, 0o666, 0o755]) {
      fs.chmodSync(path, mode);
      const sink = fileSink(path);
      await sink.write(bytes.subarray(0, 2));
      const temporary = folder.list().find((name) => name.startsWith(".tensorjar-")) ?? "";
      expect(fs.statSync(folder.path(temporary)).mode & 0o777).toBe(mode);
      await sink.close();
      expect(fs.statSync(path).mode & 0o777).toBe(mode);
    }
  });

  test("is written through symbolic links, also dangling ones", async () => {
    fs.mkdirSync(folder.path("elsewhere"));
    const target = folder.path("elsewhere", "target");
    const link = folder.path("link");
    const linkToLink = folder.path("link2");
    fs.symlinkSync("elsewhere/target", link);
    fs.symlinkSync("link", linkToLink);
    for (const length of [4, 5]) {
      await save(linkToLink, bytes.subarray(0, length));
      expect(read(target)).toEqual(bytes.slice(0, length));
      expect(fs.lstatSync(link).isSymbolicLink()).toBe(true);
      expect(fs.lstatSync(linkToLink).isSymbolicLink()).toBe(true);
    }
    expect(fs.readdirSync(folder.path("elsewhere"))).toEqual(["target"]);
    fs.symlinkSync("loop", folder.path("loop"));
    await expectError(() => save(folder.path("loop"), bytes), { code: "io", names: ["ELOOP"] });
  });

  test("is refused when it is no file, or its folder is not there", async () => {
    await expectError(() => save(folder.path(), bytes), { code: "io", names: ["EISDIR"] });
    await expectError(() => save(folder.path("new/"), bytes), { code: "io", names: ["EISDIR"] });
    await expectError(() => save(folder.path("none", "a"), bytes), { code: "not-found" });
    await expectError(() => save("/dev/null", bytes), { code: "io", names: ["regular"] });
    expect(fs.statSync("/dev/null").isCharacterDevice()).toBe(true);
  });

  test("ifExists: error keeps it, whether it was there before or came meanwhile", async () => {
    const path = folder.path("mine");
    await save(path, bytes.subarray(0, 3), { ifExists: "error" });
    const late = fileSink(folder.path("late"), { ifExists: "error" });
    await late.write(bytes);
    fs.writeFileSync(folder.path("late"), "other");
    await expectError(() => late.close(), { code: "already-exists", names: ["late"] });
    expect(fs.readFileSync(folder.path("late"), "latin1")).toBe("other");
    const early = fileSink(path, { ifExists: "error" });
    await expectError(() => early.write(bytes), { code: "already-exists" });
    await expectError(() => save(folder.path(), bytes, { ifExists: "error" }), {
      code: "already-exists",
    });
    expect(read(path)).toEqual(bytes.slice(0, 3));
    expect(littered()).toBe(false);
  });

  test("of two writers to one path, one wins as a whole; with ifExists: error the first", async () => {
    for (const ifExists of ["replace", "error"] as const) {
      const path = folder.path(`two-${ifExists}`);
      const sinks = [1, 2, 3].map((value) => ({ value, sink: fileSink(path, { ifExists }) }));
      for (let i = 0; i < 10; i++) {
        const chunk = (value: number): Uint8Array => new Uint8Array(300_000).fill(value);
        await Promise.all(sinks.map(({ value, sink }) => sink.write(chunk(value))));
      }
      const results = await Promise.allSettled(sinks.map(({ sink }) => sink.close()));
      const saved = results.filter(({ status }) => status === "fulfilled").length;
      expect(saved).toBe(ifExists === "replace" ? 3 : 1);
      const content = read(path);
      expect(content.length).toBe(3_000_000);
      expect(content.every((byte) => byte === content[0])).toBe(true);
    }
    expect(littered()).toBe(false);
  });
});

describe("after the end", () => {
  test("close and abort, everything is refused, and abort does nothing", async () => {
    const path = folder.path("ended");
    for (const end of ["close", "abort"] as const) {
      const sink = fileSink(path);
      await sink.write(bytes.subarray(0, 3));
      await sink[end]();
      await expectError(() => sink.write(bytes), { code: "invalid-argument", names: ["ended"] });
      await expectError(() => sink.rewrite(0, bytes), { code: "invalid-argument" });
      await expectError(() => sink.close(), { code: "invalid-argument" });
      await sink.abort();
      await sink.abort();
      expect(read(path)).toEqual(bytes.slice(0, 3)); // what close saved, which no abort undoes
    }
  });
});

describe("cancelling", () => {
  const reason = new Error("enough");

  test("leaves no temporary file at the moment of the rejection, wherever the save stood", async () => {
    const path = folder.path("cancelled");
    fs.writeFileSync(path, "old");
    const before = folder.list();
    let stops = 0;
    for (let stop = 1; ; stop++) {
      const controller = new AbortController();
      let calls = 0;
      const at = (): void => {
        if (++calls === stop) controller.abort(reason);
      };
      const chunks = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
        for (let i = 0; i < 5; i++) {
          at();
          yield pattern(300_000);
          at();
        }
      };
      const { write, close, abort } = fileSink(path);
      // Also in the middle of each operation, and while the disk is being asked to make it durable.
      const during = async (operation: Promise<void>): Promise<void> => {
        for (let turn = 0; turn < 4; turn++) {
          await Promise.resolve();
          at();
        }
        return operation;
      };
      const sink = {
        write: (chunk: Uint8Array) => during(write(chunk)),
        close: () => during(close()),
        abort,
      };
      const saving = writeChunks(
        sink,
        { byteLength: 1_500_000, chunks: chunks() },
        { signal: controller.signal },
      );
      const outcome = await saving.then(
        () => "saved",
        (error: unknown) => error,
      );
      const left = folder.list();
      if (outcome === "saved") break;
      stops++;
      expect(outcome).toBe(reason);
      expect(left).toEqual(before);
      expect(fs.readFileSync(path, "latin1")).toBe("old");
      await abort();
      expect(folder.list()).toEqual(before);
    }
    expect(stops).toBeGreaterThan(30);
    expect(littered()).toBe(false);
  });

  test("does not wait for a chunk that never comes", async () => {
    const controller = new AbortController();
    const never = deferred<Uint8Array<ArrayBuffer>>();
    const chunks = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      yield pattern(300_000);
      yield await never.promise;
    };
    const path = folder.path("stuck");
    const pulled = deferred<void>();
    const saving = writeChunks(
      fileSink(path),
      { byteLength: 0, chunks: chunks() },
      { signal: controller.signal, onProgress: () => pulled.resolve() },
    );
    await pulled.promise;
    await turns();
    expect(littered()).toBe(true);
    controller.abort(reason);
    await expect(saving).rejects.toBe(reason);
    expect(littered()).toBe(false);
    expect(fs.existsSync(path)).toBe(false);
  });
});
