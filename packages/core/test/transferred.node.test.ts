import { readFileSync } from "node:fs";
import { writeChunks } from "@tensorjar/core/codec";
import { type FileSink, fileSink } from "@tensorjar/core/node";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { expectError, sameBytes } from "../../../tooling/testing.js";
import { turns } from "./deferred.js";

const folder = temporaryFolder();
const misuse = { code: "invalid-argument", names: ["transferred"] } as const;

test("a chunk that its sink transfers before it has all of it is told", async () => {
  const calls: string[] = [];
  const sink = {
    write({ buffer, length }: Uint8Array) {
      calls.push(`write ${length}`);
      structuredClone(buffer, { transfer: buffer instanceof ArrayBuffer ? [buffer] : [] });
    },
    close: () => void calls.push("close"),
    abort: () => void calls.push("abort"),
  };
  const chunk = new Uint8Array((64 << 20) + 1);
  const chunks = (async function* () {
    yield chunk;
  })();
  await expectError(() => writeChunks(sink, { byteLength: chunk.length, chunks }), misuse);
  expect(calls).toEqual([`write ${64 << 20}`, "abort"]);
});

test("a file is not saved without bytes that were transferred while it was written", async () => {
  const sink = fileSink(folder.path("file"));
  const chunk = new Uint8Array(9 << 20);
  const writing = sink.write(chunk);
  await turns();
  const taken = structuredClone(chunk, { transfer: [chunk.buffer] });
  if (chunk.length > 0) {
    // Bun copies memory that the system reads just then, and leaves it where it is.
    await writing;
    await sink.close();
    expect(sameBytes(readFileSync(folder.path("file")), taken)).toBe(true);
    return;
  }
  await expectError(() => writing, misuse);
  await expectError(() => sink.close(), misuse);
  expect(folder.list()).toEqual([]);
  expect(taken.length).toBe(9 << 20); // kept until the system is done with it
});

describe.each(["write", "rewrite"] as const)(
  "a chunk that %s takes once the disk is ready",
  (call) => {
    /** Gathers until the next call has to wait for the disk: nothing here gives the system a turn. */
    async function waiting(chunk: Uint8Array): Promise<[Promise<void>, FileSink]> {
      const sink = fileSink(folder.path("late"));
      for (let i = 0; i < 10; i++) await sink.write(new Uint8Array(200_000).fill(1));
      const called = call === "write" ? sink.write(chunk) : sink.rewrite(0, chunk);
      await turns();
      return [called, sink];
    }

    test("must not be transferred before", async () => {
      const chunk = new Uint8Array(200_000);
      const [called, sink] = await waiting(chunk);
      structuredClone(chunk, { transfer: [chunk.buffer] });
      await expectError(() => called, misuse);
      await expectError(() => sink.close(), misuse);
      expect(folder.list().filter((name) => name !== "file")).toEqual([]);
    });

    test("must not become shorter before", async () => {
      const memory: ArrayBuffer = Reflect.construct(ArrayBuffer, [200_000, { maxByteLength: 4e5 }]);
      const chunk = new Uint8Array(memory, 0, 200_000);
      const [called, sink] = await waiting(chunk);
      Reflect.apply(Reflect.get(ArrayBuffer.prototype, "resize"), memory, [100_000]);
      const shorter = { code: "invalid-argument", names: ["shorter"] } as const;
      await expectError(() => called, shorter);
      await expectError(() => sink.close(), shorter);
      expect(folder.list().filter((name) => name !== "file")).toEqual([]);
    });
  },
);
