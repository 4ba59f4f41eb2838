import {
  type ByteSource,
  blobSource,
  byteLength,
  bytesSource,
  cast,
  dtypeInfo,
  elementCount,
  ofType,
  readChunks,
  tensor,
  toFloat32,
} from "@tensorjar/core";
import { checkTensor, inOrder, namedEntries, toBytes, toSource } from "@tensorjar/core/codec";
import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

/** Calls as JavaScript can, where the compiler is not asked. */
function call(fn: (...args: never[]) => unknown, ...args: unknown[]): () => unknown {
  return () => Reflect.apply(fn, undefined, args);
}

function transferred(): Float32Array {
  const data = new Float32Array(4);
  structuredClone(data.buffer, { transfer: [data.buffer] });
  return data;
}

/** What cannot be turned into text. */
const bare: unknown = Object.create(null);

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks);
}

test("memory that was transferred is told", async () => {
  const data = transferred();
  const misuse = { code: "invalid-argument", names: ["detached", "transferred"] } as const;
  await expectError(() => toBytes(data), misuse);
  await expectError(() => toBytes(data.buffer), misuse);
  await expectError(() => bytesSource(data), misuse);
  await expectError(() => toSource(data.buffer), misuse);
  await expectError(() => toFloat32({ dtype: "float32", shape: [0], data }), misuse);
  await expectError(() => toFloat32({ dtype: "float32", shape: [4], data }), misuse);
  await expectError(call(namedEntries, data), { code: "invalid-argument" });
});

test("values that are no text do not break the message about them", async () => {
  await expectError(call(dtypeInfo, bare), { code: "invalid-dtype" });
  await expectError(call(elementCount, [bare]), { code: "invalid-shape", names: ["axis 0"] });
  await expectError(call(byteLength, "float32", undefined), { code: "invalid-shape" });
  await expectError(call(cast, tensor(new Float32Array(1)), bare), { code: "invalid-dtype" });
  await expectError(call(ofType, tensor(new Float32Array(1)), 5n), { code: "invalid-dtype" });
  await expectError(call(ofType, null, "float32"), { code: "not-found" });
  const data = new Uint8Array(1);
  await expectError(() => checkTensor({ dtype: bare, shape: [1], data }, "w"), {
    code: "invalid-dtype",
    names: ['"w"'],
  });
  await expectError(() => checkTensor({ dtype: "uint8", shape: [bare], data }, "w"), {
    code: "invalid-shape",
    names: ['"w"'],
  });
  await expectError(call(blobSource, undefined), { code: "invalid-argument" });
});

describe("a source that does not keep to its contract", () => {
  test("ends reading in chunks when it gives less than was asked for", async () => {
    const short: ByteSource = { size: 10, read: async () => new Uint8Array(0) };
    await expectError(() => drain(readChunks(short)), { code: "truncated" });
    await expectError(
      call((source: never) => drain(readChunks(source)), {}),
      {
        code: "invalid-argument",
      },
    );
  });

  test("may answer at once, also when the read can be cancelled", async () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const prompt: ByteSource = Object.assign({ size: 3 }, { read: (): never => bytes as never });
    const source = await toSource(prompt);
    const { signal } = new AbortController();
    expect(await source.read(0, 3, { signal })).toEqual(bytes);
  });
});

test("a concurrency is an integer from 1", async () => {
  for (const concurrency of [0, -1, 1.5, Number.NaN]) {
    await expectError(() => drain(inOrder([], concurrency)), {
      code: "invalid-argument",
      names: ["concurrency"],
    });
  }
});

test.each<[string, () => object]>([
  ["a promise nobody awaited", () => Promise.resolve(new Map())],
  ["an asynchronous iterator", async function* () {}],
  ["bytes", () => new ArrayBuffer(8)],
  ["a date", () => new Date(0)],
])("%s is no empty record", async (_, make) => {
  await expectError(call(namedEntries, make()), {
    code: "invalid-argument",
    names: ["expected tensors by name"],
  });
});

test("what has fields or none of its own is a record", () => {
  class Weights {
    weight = 1;
    get [Symbol.toStringTag]() {
      return "Weights";
    }
  }
  expect(Reflect.apply(namedEntries, undefined, [new Weights()])).toEqual([["weight", 1]]);
  expect(Reflect.apply(namedEntries, undefined, [{}])).toEqual([]);
  expect(Reflect.apply(namedEntries, undefined, [bare])).toEqual([]);
});
