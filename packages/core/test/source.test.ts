import { type ByteSource, blobSource, bytesSource } from "@tensorjar/core";
import { toSource } from "@tensorjar/core/codec";
import { describe, expect, test } from "vitest";
import { expectError, sameBytes } from "../../../tooling/testing.js";
import { deferred } from "./deferred.js";
import { pattern } from "./pattern.js";

const bytes = pattern(200);

const sources: [string, (data: Uint8Array<ArrayBuffer>) => ByteSource][] = [
  ["bytesSource", bytesSource],
  ["blobSource", (data) => blobSource(new Blob([data]))],
];

describe.each(sources)("%s", (_, make) => {
  test("reads any range, into a destination too", async () => {
    const source = make(bytes);
    expect(source.size).toBe(200);
    for (const [offset, length] of [
      [0, 200],
      [0, 0],
      [200, 0],
      [199, 1],
      [3, 100],
    ] as const) {
      const expected = bytes.subarray(offset, offset + length);
      expect(await source.read(offset, length)).toEqual(expected);
      const into = new Uint8Array(length + 2).fill(9);
      const read = await source.read(offset, length, { into });
      expect(read.buffer).toBe(into.buffer);
      expect(read).toEqual(expected);
      expect([...into.subarray(length)]).toEqual([9, 9]);
    }
  });

  test("refuses ranges that are not there, and what is no range", async () => {
    const source = make(bytes);
    const error = await expectError(() => source.read(190, 11), { code: "truncated" });
    expect(error.details).toMatchObject({ offset: 190, expected: 201, actual: 200 });
    for (const [offset, length] of [
      [-1, 1],
      [0, -1],
      [0.5, 1],
      [0, Number.NaN],
      [2 ** 53, 1],
    ] as const) {
      await expectError(() => source.read(offset, length), { code: "invalid-argument" });
    }
    await expectError(() => source.read(0, 3, { into: new Uint8Array(2) }), {
      code: "invalid-argument",
    });
  });

  test("reads nothing once the signal is aborted", async () => {
    const reason = new Error("enough");
    const into = new Uint8Array(4);
    const reading = make(bytes).read(1, 4, { into, signal: AbortSignal.abort(reason) });
    await expect(reading).rejects.toBe(reason);
    expect([...into]).toEqual([0, 0, 0, 0]);
  });
});

test("bytesSource says so of memory that was transferred or made shorter, and gives nothing short", async () => {
  const moved = pattern(100);
  const source = bytesSource(moved);
  structuredClone(moved, { transfer: [moved.buffer] });
  for (const into of [undefined, new Uint8Array(10)]) {
    await expectError(() => source.read(0, 10, into && { into }), {
      code: "invalid-argument",
      names: ["transferred"],
    });
  }
  const memory: ArrayBuffer = Reflect.construct(ArrayBuffer, [100, { maxByteLength: 200 }]);
  const resize = (length: number): unknown =>
    Reflect.apply(Reflect.get(memory, "resize"), memory, [length]);
  for (const given of [memory, new Uint8Array(memory, 0, 100)]) {
    resize(100);
    const shrinking = bytesSource(given);
    resize(50);
    await expectError(() => shrinking.read(45, 10), { code: "truncated" });
    resize(200);
    expect(shrinking.size).toBe(100);
    expect((await shrinking.read(90, 10)).length).toBe(10);
  }
});

test("bytesSource reads views, and only of the part it was given", async () => {
  const part = bytes.subarray(100, 200);
  const source = bytesSource(new DataView(part.buffer, part.byteOffset, part.byteLength));
  const read = await source.read(10, 5);
  expect(read.buffer).toBe(bytes.buffer);
  expect(read.byteOffset).toBe(110);
  expect(Object.getPrototypeOf(read)).toBe(Uint8Array.prototype);
});

test("blobSource reads more than one piece", async () => {
  const large = pattern(9 << 20);
  const source = blobSource(new Blob([large]));
  expect(sameBytes(await source.read(5, large.length - 5), large.subarray(5))).toBe(true);
});

test("blobSource tells a file that changed from one that is gone or broken", async () => {
  const blob = (read: () => Promise<ArrayBuffer>): Blob =>
    Object.assign(new Blob([bytes]), {
      slice: () => Object.assign(new Blob(), { arrayBuffer: read }),
    });
  for (const [name, code] of [
    ["NotReadableError", "source-changed"],
    ["NotFoundError", "not-found"],
    ["SecurityError", "io"],
  ] as const) {
    const source = blobSource(blob(() => Promise.reject(new DOMException("no", name))));
    await expectError(() => source.read(0, 4), { code, names: [name] });
  }
  const missing = new Error("ENOENT: no such file"); // of a Bun.file
  const gone = Object.assign(new Blob(), { arrayBuffer: () => Promise.reject(missing) });
  await expectError(() => blobSource(gone).read(0, 0), {
    code: "not-found",
    names: ["no such file"],
  });
  const short = blobSource(blob(async () => new ArrayBuffer(3)));
  await expectError(() => short.read(0, 4), { code: "source-changed" });
});

test("a running blob read rejects at once when aborted", async () => {
  const reason = new Error("enough");
  const never = deferred<ArrayBuffer>();
  const blob = Object.assign(new Blob([bytes]), {
    slice: () => Object.assign(new Blob(), { arrayBuffer: () => never.promise }),
  });
  const controller = new AbortController();
  const reading = blobSource(blob).read(0, 4, { signal: controller.signal });
  controller.abort(reason);
  await expect(reading).rejects.toBe(reason);
});

describe("toSource", () => {
  test("takes bytes of every kind, Blobs, sources and promises of them", async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(200));
    shared.set(bytes);
    for (const given of [
      bytes,
      bytes.buffer,
      shared.buffer,
      new DataView(bytes.buffer),
      new Blob([bytes]),
      bytesSource(bytes),
      Promise.resolve(bytesSource(bytes)),
    ]) {
      const source = await toSource(given);
      expect(source.size).toBe(200);
      expect(await source.read(7, 90)).toEqual(bytes.subarray(7, 97));
    }
  });

  test("refuses anything else, and says what to use", async () => {
    const given: unknown[] = ["a.npy", 5, null, undefined, {}, new Response("x"), [1, 2]];
    for (const wrong of given) {
      // @ts-expect-error: not sources
      await expectError(() => toSource(wrong), { code: "invalid-argument", names: ["fileSource"] });
    }
    const unsized = { size: Number.NaN, read: async () => bytes };
    await expectError(() => toSource(unsized), { code: "invalid-argument" });
  });

  test("keeps the error of a promised source", async () => {
    const reason = new Error("no such file");
    await expect(toSource(Promise.reject(reason))).rejects.toBe(reason);
  });

  describe("holds anyone's source to the contract", () => {
    const custom = (read: ByteSource["read"]): Promise<ByteSource> => toSource({ size: 200, read });

    test("short reads are truncated, long ones refused", async () => {
      const short = await custom(async () => bytes.subarray(0, 3));
      await expectError(() => short.read(0, 4), { code: "truncated", names: ["3", "4"] });
      const long = await custom(async () => bytes);
      await expectError(() => long.read(0, 4), { code: "invalid-argument" });
    });

    test("a destination that it ignored is filled", async () => {
      const source = await custom(async (offset, length) => bytes.slice(offset, offset + length));
      const into = new Uint8Array(6);
      const read = await source.read(20, 5, { into });
      expect(read.buffer).toBe(into.buffer);
      expect([...into]).toEqual([...bytes.subarray(20, 25), 0]);
      const moved = await custom(async (_, length, { into: target } = {}) => {
        const whole = new Uint8Array(target?.buffer ?? new ArrayBuffer(0));
        whole.set(bytes.subarray(0, length), 100);
        return whole.subarray(100, 100 + length);
      });
      const part = new Uint8Array(200).subarray(0, 4);
      await moved.read(0, 4, { into: part });
      expect(part).toEqual(bytes.subarray(0, 4));
    });

    test("ranges outside are refused without asking it", async () => {
      let asked = 0;
      const source = await custom(async () => bytes.subarray(0, ++asked));
      await expectError(() => source.read(199, 2), { code: "truncated" });
      expect(asked).toBe(0);
    });

    test("an abort that it ignores rejects at once", async () => {
      const reason = new Error("enough");
      const controller = new AbortController();
      const source = await custom(() => new Promise(() => {}));
      const reading = source.read(0, 4, { signal: controller.signal });
      controller.abort(reason);
      await expect(reading).rejects.toBe(reason);
    });

    test("close closes it, where it can be closed", async () => {
      let closed = 0;
      const close = async (): Promise<void> => {
        closed++;
      };
      await (await toSource({ size: 0, read: async () => bytes, close })).close?.();
      await (await custom(async () => bytes)).close?.();
      expect(closed).toBe(1);
    });
  });
});
