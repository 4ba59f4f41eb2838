import { runInNewContext } from "node:vm";
import { cast, tensor, toFloat32, toFloat64, toNested } from "@tensorjar/core";
import { expect, test } from "vitest";

test("a Buffer becomes a plain Uint8Array on the same memory", () => {
  const buffer = Buffer.from([1, 2, 3, 4]);
  const t = tensor(buffer);
  expect(t.dtype).toBe("uint8");
  expect(Object.getPrototypeOf(t.data)).toBe(Uint8Array.prototype);
  expect([t.data.buffer === buffer.buffer, t.data.byteOffset]).toEqual([true, buffer.byteOffset]);
  expect(tensor(buffer, [2, 2], "float8_e5m2").data.slice()).toEqual(Uint8Array.of(1, 2, 3, 4));
});

test("typed arrays and nested arrays of another realm are taken", () => {
  const floats: Float32Array = runInNewContext("new Float32Array([1, 2, 3]).subarray(1)");
  expect(floats instanceof Float32Array).toBe(false);
  const t = tensor(floats);
  expect(t).toEqual({ dtype: "float32", shape: [2], data: Float32Array.of(2, 3) });
  expect(t.data.buffer).toBe(floats.buffer);
  expect(toNested(tensor(runInNewContext("[[1, 2], [3, 4]]"), runInNewContext("[4]")))).toEqual([
    1, 2, 3, 4,
  ]);
});

test("a tensor that another realm made is converted", () => {
  const given = (text: string): { dtype: string; shape: number[]; data: unknown } =>
    runInNewContext(`(${text})`);
  expect([
    ...toFloat32(given('{ dtype: "float16", shape: [2], data: Uint16Array.of(0x3c00, 0xc000) }')),
  ]).toEqual([1, -2]);
  expect([
    ...toFloat64(given('{ dtype: "int64", shape: [1], data: BigInt64Array.of(-5n) }')),
  ]).toEqual([-5]);
  expect([
    ...toFloat64(given('{ dtype: "float4_e2m1fn", shape: [2], data: Uint8Array.of(0x21) }')),
  ]).toEqual([0.5, 1]);
  expect([
    ...cast(given('{ dtype: "float32", shape: [1], data: Float32Array.of(1) }'), "bfloat16").data,
  ]).toEqual([0x3f80]);
});
