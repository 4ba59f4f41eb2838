import { type ByteSource, bytesSource, type Progress, readChunks } from "@tensorjar/core";
import { describe, expect, test } from "vitest";
import { collect, expectError, sameBytes } from "../../../tooling/testing.js";
import { deferred, turns } from "./deferred.js";
import { pattern } from "./pattern.js";

const bytes = pattern(20 << 20);

/** A source whose reads the test answers. */
function heldSource(): { source: ByteSource; answers: (() => void)[]; starts: number[] } {
  const answers: (() => void)[] = [];
  const starts: number[] = [];
  const source: ByteSource = {
    size: bytes.length,
    read(offset, length) {
      const read = deferred<Uint8Array>();
      starts.push(offset);
      answers.push(() => read.resolve(bytes.subarray(offset, offset + length)));
      return read.promise;
    },
  };
  return { source, answers, starts };
}

test("gives the bytes in order, in bounded chunks, and tells how far it is", async () => {
  const seen: Progress[] = [];
  const onProgress = (progress: Progress): void => void seen.push(progress);
  const chunks = await collect(readChunks(bytesSource(bytes), { onProgress }));
  expect(chunks.map((chunk) => chunk.length)).toEqual([8 << 20, 8 << 20, 4 << 20]);
  let at = 0;
  for (const chunk of chunks) {
    expect(sameBytes(chunk, bytes.subarray(at, at + chunk.length))).toBe(true);
    at += chunk.length;
  }
  expect(seen).toEqual(
    [8 << 20, 16 << 20, 20 << 20].map((loaded) => ({ loaded, total: 20 << 20, name: "" })),
  );
});

test("gives a part", async () => {
  const source = bytesSource(bytes);
  const [only, ...none] = await collect(readChunks(source, { start: 5, end: 25 }));
  expect(only).toEqual(bytes.subarray(5, 25));
  expect(none).toEqual([]);
  expect(await collect(readChunks(source, { start: 7, end: 7 }))).toEqual([]);
  expect(await collect(readChunks(bytesSource(new Uint8Array(0))))).toEqual([]);
  const tail = await collect(readChunks(source, { start: bytes.length - 3 }));
  expect(tail).toEqual([bytes.subarray(-3)]);
});

test("refuses what is no range of the source", async () => {
  const source = bytesSource(bytes);
  for (const range of [{ start: -1 }, { start: 0.5 }, { start: 5, end: 4 }, { end: Number.NaN }]) {
    await expectError(() => collect(readChunks(source, range)), { code: "invalid-argument" });
  }
  await expectError(() => collect(readChunks(source, { end: bytes.length + 1 })), {
    code: "truncated",
  });
});

test("reads one chunk ahead, not more, and nothing before it is asked", async () => {
  const { source, answers, starts } = heldSource();
  const chunks = readChunks(source);
  await turns();
  expect(starts).toEqual([]);
  const first = chunks.next();
  await turns();
  expect(starts).toEqual([0]);
  answers[0]?.();
  await first;
  await turns();
  expect(starts).toEqual([0, 8 << 20]);
});

describe("stopping", () => {
  test("an abort rejects at once, during a read and between two, and starts no other", async () => {
    for (const answered of [0, 1]) {
      const reason = new Error("enough");
      const controller = new AbortController();
      const { source, answers, starts } = heldSource();
      const chunks = readChunks(source, { signal: controller.signal });
      const first = chunks.next();
      await turns();
      if (answered === 1) {
        answers[0]?.();
        await first;
      }
      controller.abort(reason);
      await expect(answered === 0 ? first : chunks.next()).rejects.toBe(reason);
      for (const answer of answers) answer();
      await turns();
      expect(starts.length).toBe(1 + answered);
      expect(await chunks.next()).toEqual({ done: true, value: undefined });
    }
  });

  test("a consumer that leaves stops the reading", async () => {
    const { source, answers, starts } = heldSource();
    const chunks = readChunks(source);
    const first = chunks.next();
    await turns();
    answers[0]?.();
    await first;
    await chunks.return();
    answers[1]?.();
    await turns();
    expect(starts.length).toBe(2);
  });

  test("the error of a chunk comes when its turn comes", async () => {
    const failure = new Error("disk");
    let reads = 0;
    const source: ByteSource = {
      size: bytes.length,
      async read(offset, length) {
        if (++reads === 2) throw failure;
        return bytes.subarray(offset, offset + length);
      },
    };
    const chunks = readChunks(source);
    expect((await chunks.next()).done).toBe(false);
    await expect(chunks.next()).rejects.toBe(failure);
    expect(reads).toBe(2);
  });
});
