import {
  type DType,
  diffCheckpoints,
  npzCheckpoint,
  safetensorsCheckpoint,
  type TrainingState,
  tensor,
} from "@tensorjar/checkpoint";
import { tensorFromBytes } from "@tensorjar/core/codec";
import { expect, test } from "vitest";
import { expectError, random } from "../../../tooling/testing.js";
import { adamState, gather } from "./support.js";

const encode = (state: TrainingState) => gather(safetensorsCheckpoint.chunks(state));
const vector = (...values: number[]) => tensor(Float32Array.from(values));

test("checkpoints of one state do not differ", async () => {
  expect(
    await diffCheckpoints(await encode(adamState(random(1))), await encode(adamState(random(1)))),
  ).toEqual([]);
});

test("every difference is told by its path", async () => {
  const first: TrainingState = {
    params: {
      same: vector(1),
      values: vector(1, 2, 3),
      shape: vector(1),
      dtype: vector(1),
      gone: vector(1),
      zero: vector(0),
    },
    optimizers: {
      adam: { step: 3, hyperparameters: { lr: 1 }, m: { w: vector(Number.NaN, 1) } },
      rows: { step: { w: 1, b: 2 } },
      gone: { step: 1 },
    },
    step: 3,
    config: { a: 1 },
    metrics: { loss: 2, gone: 1 },
    extra: { packed: tensor(Uint8Array.of(1, 2, 3), [4], "float6_e2m3fn") },
  };
  const second: TrainingState = {
    params: {
      same: vector(1),
      values: vector(1, 4, 3.5),
      shape: vector(1, 2),
      dtype: tensor(Int32Array.of(1)),
      fresh: vector(1),
      zero: vector(-0),
    },
    optimizers: {
      adam: { step: 5, hyperparameters: { lr: 2 }, m: { w: vector(1, 1) }, v: { w: vector(1) } },
      rows: { step: { w: 1, b: 4 } },
    },
    step: 4,
    config: { a: 2 },
    metrics: { loss: Number.NaN },
    extra: { packed: tensor(Uint8Array.of(1, 2, 4), [4], "float6_e2m3fn") },
  };
  const found = await diffCheckpoints(await encode(first), await encode(second));
  expect([...found].sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { path: "config", kind: "values" },
    { path: "extra.packed", kind: "values", count: expect.any(Number) },
    { path: "metrics.gone", kind: "missing" },
    { path: "metrics.loss", kind: "values", count: 1, maxAbs: Number.POSITIVE_INFINITY },
    { path: "optimizers.adam.hyperparameters", kind: "values" },
    { path: "optimizers.adam.m.w", kind: "values", count: 1, maxAbs: Number.POSITIVE_INFINITY },
    { path: "optimizers.adam.step", kind: "values", count: 1, maxAbs: 2 },
    { path: "optimizers.adam.v", kind: "unexpected" },
    { path: "optimizers.gone", kind: "missing" },
    { path: "optimizers.rows.step.b", kind: "values", count: 1, maxAbs: 2 },
    { path: "params.dtype", kind: "dtype" },
    { path: "params.fresh", kind: "unexpected" },
    { path: "params.gone", kind: "missing" },
    { path: "params.shape", kind: "shape" },
    { path: "params.values", kind: "values", count: 2, maxAbs: 2 },
    { path: "params.zero", kind: "values", count: 1, maxAbs: 0 },
    { path: "step", kind: "values", count: 1, maxAbs: 1 },
  ]);
});

test("elements are counted, also those that share bytes", async () => {
  const cases: [dtype: DType, shape: number[], a: number[], b: number[], count: number][] = [
    ["float4_e2m1fn", [4], [0, 0], [0x11, 0], 2],
    ["float4_e2m1fn", [4], [0, 0], [0x70, 0x07], 2],
    ["float4_e2m1fn", [4], [0, 0], [0xff, 0xff], 4],
    ["float6_e2m3fn", [4], [0, 0, 0], [1, 0, 0], 1],
    ["float6_e2m3fn", [4], [0, 0, 0], [0xc0, 0x0f, 0], 1],
    ["float6_e2m3fn", [4], [0, 0, 0], [0x20, 0, 0x80], 2],
    ["float6_e3m2fn", [8], [0, 0, 0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 8],
    ["float8_e5m2", [2], [0, 0], [0xff, 0xff], 2],
    ["bool", [2], [0, 0], [1, 0], 1],
    ["int32", [2], [0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 1], 2],
    ["complex64", [1], [0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 1], 1],
  ];
  const file = (dtype: DType, shape: number[], bytes: number[]) =>
    encode({
      params: { w: tensorFromBytes(dtype, shape, Uint8Array.from(bytes)) },
      optimizers: {},
      step: 0,
    });
  for (const [dtype, shape, a, b, count] of cases) {
    const found = await diffCheckpoints(await file(dtype, shape, a), await file(dtype, shape, b));
    expect(found, dtype).toMatchObject([{ path: "params.w", kind: "values", count }]);
  }
});

test("the largest difference of 64-bit integers is exact, as far as a number is", async () => {
  const file = (dtype: "int64" | "uint64", ...values: bigint[]) =>
    encode({ params: { w: tensor(values, undefined, dtype) }, optimizers: {}, step: 0 });
  for (const [dtype, a, b, maxAbs] of [
    ["int64", [2n ** 60n, 1n], [2n ** 60n + 1n, 1n], 1],
    ["int64", [-(2n ** 63n), 5n], [-(2n ** 63n) + 3n, 4n], 3],
    ["int64", [2n ** 63n - 1n], [-(2n ** 63n)], 2 ** 64],
    ["uint64", [2n ** 64n - 1n, 0n], [2n ** 64n - 2n, 2n], 2],
  ] as const) {
    const found = await diffCheckpoints(await file(dtype, ...a), await file(dtype, ...b));
    expect(found).toMatchObject([{ path: "params.w", kind: "values", maxAbs }]);
  }
});

test("the containers do not count as a difference", async () => {
  const state: TrainingState = {
    params: { w: vector(1), b: vector(2) },
    optimizers: {
      adam: {
        step: 3,
        exp_avg: { w: vector(1), b: vector(2) },
        exp_avg_sq: { w: vector(1), b: vector(2) },
      },
    },
    step: 3,
  };
  expect(
    await diffCheckpoints(await gather(npzCheckpoint.chunks(state)), await encode(state)),
  ).toEqual([]);
});

test("a damaged checkpoint is refused", async () => {
  const bytes = await encode(adamState(random(1)));
  const damaged = bytes.slice();
  damaged[bytes.length - 1]! ^= 1; // it is not empty
  await expectError(() => diffCheckpoints(bytes, damaged), { code: "checksum-mismatch" });
});
