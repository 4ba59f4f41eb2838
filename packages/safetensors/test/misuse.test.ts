import { type Tensor, tensor } from "@tensorjar/core";
import {
  decodeSafetensors,
  encodeSafetensors,
  encodeSafetensorsHeader,
  openSafetensors,
  openShardedSafetensors,
  sliceByteRanges,
  writeShardedSafetensors,
} from "@tensorjar/safetensors";
import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

const one = tensor(new Float32Array(2));
const file = encodeSafetensors({ a: one });
const bare: unknown = Object.create(null);

/** Calls as JavaScript can, where the compiler is not asked. */
function call(fn: (...args: never[]) => unknown, ...args: unknown[]): () => unknown {
  return () => Reflect.apply(fn, undefined, args);
}

async function drain(entries: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of entries);
}

test("names that are no list are refused everywhere", async () => {
  const misuse = { code: "invalid-argument", names: ["names"] } as const;
  const opened = await openSafetensors(file);
  const sharded = await openShardedSafetensors('{"weight_map":{"a":"m"}}', () => file);
  for (const names of [5, "a", null, {}, true]) {
    await expectError(call(decodeSafetensors, file, { names }), misuse);
    await expectError(call(opened.footprint, names), misuse);
    await expectError(call(opened.getAll, names), misuse);
    await expectError(
      call((n: never) => drain(opened.entries(n)), names),
      misuse,
    );
    if (names !== null)
      await expectError(
        call((n: never) => drain(sharded.entries(n)), names),
        misuse,
      );
  }
  for (const name of [bare, Symbol("a"), /a/, undefined, 5n]) {
    await expectError(call(opened.get, name), { code: "not-found" });
  }
});

test("options and entries of the wrong kind are told", async () => {
  for (const maxHeaderLength of [-1, Number.NaN, "9", 9n]) {
    await expectError(call(decodeSafetensors, file, { maxHeaderLength }), {
      code: "invalid-argument",
      names: ["maxHeaderLength"],
    });
  }
  for (const dataAlignment of [0, 3, 8n, bare]) {
    await expectError(call(encodeSafetensors, { a: one }, { dataAlignment }), {
      code: "invalid-argument",
      names: ["dataAlignment"],
    });
  }
  await expectError(call(encodeSafetensorsHeader, [["a", undefined]]), {
    code: "invalid-argument",
    names: ['"a"'],
  });
  const info = { dtype: "float32", begin: 0, end: 4 };
  for (const shape of [undefined, "1", [bare], [1n]]) {
    await expectError(call(encodeSafetensorsHeader, { a: { ...info, shape } }), {
      code: "invalid-shape",
      names: ['"a"'],
    });
    await expectError(call(sliceByteRanges, "float32", shape, []), { code: "invalid-shape" });
  }
  for (const offsets of [{ begin: 0n }, { end: 4n }, { end: undefined }, { begin: "0" }]) {
    await expectError(call(encodeSafetensorsHeader, { a: { ...info, shape: [1], ...offsets } }), {
      code: "invalid-offsets",
      names: ['"a"'],
    });
  }
  const write = (options: object) => call(writeShardedSafetensors, () => ({}), { a: one }, options);
  await expectError(write({ maxShardBytes: bare }), { code: "invalid-argument" });
  await expectError(write({ prefix: null }), { code: "invalid-name" });
});

test("a hundred thousand names and more may share memory", () => {
  const names = Array.from({ length: 150_000 }, (_, i): [string, Tensor] => [`n${i}`, one]);
  const bytes = encodeSafetensors(names, { aliases: "metadata" });
  const { tensors, metadata } = decodeSafetensors(bytes);
  expect([...tensors.keys()]).toEqual(["n0"]);
  expect(metadata.size).toBe(149_999);
});
