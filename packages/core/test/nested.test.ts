import { tensor, toNested, zeros } from "@tensorjar/core";
import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

test("rows of rows, as tolist gives them", () => {
  expect(toNested(tensor(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]))).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  expect(toNested(tensor(Uint8Array.of(1, 2, 3, 4), [2, 1, 2]))).toEqual([[[1, 2]], [[3, 4]]]);
});

test("a scalar is a bare value", () => {
  expect(toNested(tensor(2.5))).toBe(2.5);
  expect(toNested(tensor(3n))).toBe(3n);
  expect(toNested(tensor(true))).toBe(true);
  expect(toNested(tensor([1, 2], [], "complex64"))).toEqual([1, 2]);
});

test("every kind gives its own values", () => {
  expect(toNested(tensor(BigUint64Array.of(2n ** 64n - 1n)))).toEqual([2n ** 64n - 1n]);
  expect(toNested(tensor(Uint8Array.of(0, 1, 7), [3], "bool"))).toEqual([false, true, true]);
  expect(
    toNested(
      tensor(
        [
          [
            [1, 2],
            [3, -0],
          ],
        ],
        undefined,
        "complex128",
      ),
    ),
  ).toEqual([
    [
      [1, 2],
      [3, -0],
    ],
  ]);
  expect(toNested(tensor([0.5, -6, 1, 3], [2, 2], "float4_e2m1fn"))).toEqual([
    [0.5, -6],
    [1, 3],
  ]);
  expect(toNested(tensor(Uint16Array.of(0x7c00, 0x7e00, 0x8000), undefined, "float16"))).toEqual([
    Infinity,
    Number.NaN,
    -0,
  ]);
});

test("empty axes give empty lists", () => {
  expect(toNested(zeros([0]))).toEqual([]);
  expect(toNested(zeros([2, 0]))).toEqual([[], []]);
  expect(toNested(zeros([0, 2]))).toEqual([]);
  expect(toNested(zeros([2, 0], "complex64"))).toEqual([[], []]);
  expect(toNested(zeros([1, 2, 0, 5]))).toEqual([[[], []]]);
  expect(toNested(zeros([0, 2 ** 50]))).toEqual([]);
});

test("many axes need no stack", () => {
  let nested = toNested(zeros(new Array<number>(50_000).fill(1)));
  let axes = 0;
  for (; Array.isArray(nested); axes++) nested = nested[0];
  expect([axes, nested]).toEqual([50_000, 0]);
});

test("what would not fit in memory is refused, however few its bytes", async () => {
  await expectError(() => toNested(zeros([2 ** 40, 0])), {
    code: "limit-exceeded",
    names: ["100000000"],
  });
  await expectError(() => toNested(zeros([2 ** 20, 2 ** 20, 0])), { code: "limit-exceeded" });
});

test("what holds no numbers is refused", async () => {
  await expectError(() => toNested(undefined), { code: "not-found" });
  await expectError(() => toNested({ dtype: "string", shape: [1], data: ["a"] }), {
    code: "invalid-dtype",
    names: ["string"],
  });
  await expectError(() => toNested(zeros([4], "float6_e2m3fn")), { code: "unsupported" });
});
