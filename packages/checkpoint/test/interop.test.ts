import {
  type Snapshot,
  type Tensor,
  type TrainingState,
  takeSnapshot,
  tensor,
} from "@tensorjar/checkpoint";
import {
  type AdamHyperparameters,
  fromMlx,
  fromOptax,
  fromTorch,
  toMlx,
  toOptax,
  toTorch,
} from "@tensorjar/checkpoint/interop";
import { describe, expect, test } from "vitest";
import { expectError, random } from "../../../tooling/testing.js";
import { adamState, content } from "./support.js";

const adam: AdamHyperparameters = {
  lr: 0.1,
  betas: [0.9, 0.999],
  eps: 1e-8,
  weight_decay: 0.01,
  decoupled: true,
  bias_correction: true,
};
const vector = (...values: number[]) => tensor(Float32Array.from(values));

function snapshot(): Snapshot {
  const state = adamState(random(1));
  return takeSnapshot({
    ...state,
    optimizers: { adam: { ...state.optimizers.adam, hyperparameters: adam } },
  });
}

describe.each([
  ["PyTorch", toTorch, fromTorch],
  ["Optax", toOptax, fromOptax],
  ["MLX", toMlx, fromMlx],
] as const)("%s", (_, to, from) => {
  test("gives back the snapshot that it was given", () => {
    const back = from(to(snapshot()));
    const { step, ...optimizer } = back.optimizers.get("adam") ?? { slots: new Map() };
    expect(typeof step === "object" ? new Set(step.values()) : new Set([step])).toEqual(
      new Set([12]),
    );
    const same = { ...back, optimizers: new Map([["adam", { ...optimizer, step: 12 }]]) };
    expect(content(same)).toEqual(content(snapshot()));
  });

  test("leaves the tensors that it is given as they are, and holds their numbers", () => {
    const { tensors, metadata } = to(snapshot());
    const own = new Map(
      Array.from(tensors, ([name, given]) => [
        name,
        { ...given, shape: [...given.shape] } as Tensor,
      ]), // of the same dtype
    );
    const back = from({ tensors: own, metadata });
    for (const given of own.values()) {
      expect(Object.isFrozen(given) || Object.isFrozen(given.shape)).toBe(false);
    }
    const data = [...own.values()].map((given) => given.data);
    expect(Object.isFrozen(back.params.get("layers.0.weight"))).toBe(true);
    expect(data).toContain(back.params.get("layers.0.weight")?.data);
  });

  test("refuses what is no tensor", async () => {
    const name = from === fromOptax ? "params.w" : "model.w";
    await expectError(() => Reflect.apply(from, undefined, [{ tensors: { [name]: 3 } }]), {
      code: "invalid-argument",
      names: [name],
    });
  });

  test("takes parameters alone", () => {
    const params = takeSnapshot({ params: { w: vector(1) }, optimizers: {}, step: 3 });
    expect(content(from(to(params)))).toEqual(content(params));
  });

  test("asks which optimizer when there are several", async () => {
    const one = { step: 1, exp_avg: { w: vector(1) }, exp_avg_sq: { w: vector(2) } };
    const two = takeSnapshot({
      params: { w: vector(1) },
      optimizers: { a: one, b: { ...one, step: 2 } },
      step: 2,
    });
    await expectError(() => to(two), { code: "invalid-argument", names: ['"a"', '"b"'] });
    await expectError(() => to(two, { optimizer: "c" }), { code: "not-found", names: ['"c"'] });
    const back = from(to(two, { optimizer: "b" }), {
      optimizer: "b",
      step: 7,
      config: { x: 1 },
      hyperparameters: 3,
    });
    expect(back).toMatchObject({ step: 7, config: { x: 1 }, configText: '{"x":1}' });
    expect(back.optimizers.get("b")?.hyperparameters).toBe(3);
    expect(back.optimizers.get("b")?.slots.get("exp_avg_sq")).toEqual(new Map([["w", vector(2)]]));
  });

  test("refuses what is no snapshot, no file and no setting", async () => {
    for (const wrong of [undefined, null, 5, "x", {}, []]) {
      await expectError(() => to(wrong as never), {
        code: "invalid-argument",
        names: ["snapshot"],
      });
      await expectError(() => from(wrong as never), {
        code: "invalid-argument",
        names: ["tensors"],
      });
    }
    const file = to(snapshot());
    const options: [object, string][] = [
      [{ step: -1 }, "step"],
      [{ step: 1.5 }, "step"],
      [{ config: { a: Number.NaN } }, "config\\.a"],
      [{ hyperparameters: { lr: Number.NaN } }, "hyperparameters\\.lr"],
    ];
    for (const [given, name] of options) {
      await expectError(() => from(file, given), { code: "invalid-argument", names: [name] });
    }
    await expectError(() => from(file, { optimizer: 5 as never }), { code: "invalid-name" });
    const settings = { lr: 1, betas: [0, 1] };
    const { optimizers } = from(file, { hyperparameters: settings });
    settings.betas[0] = 5;
    expect(optimizers.get("adam")?.hyperparameters).toEqual({ lr: 1, betas: [0, 1] });
    const metadata = Object.fromEntries(file.metadata) as never; // what a program without types may give
    expect(from({ tensors: file.tensors, metadata })).toEqual(from(file));
  });

  test("refuses names that it does not know, and steps that are none", async () => {
    await expectError(() => from({ tensors: { weight: vector(1) } }), {
      code: "invalid-checkpoint",
      names: ['"weight"'],
    });
    const { tensors, metadata } = to(snapshot());
    const step = [...tensors.keys()].find((name) => /step$|count$/.test(name)) ?? "";
    await expectError(() => from({ tensors: tensors.set(step, vector(1.5)) }), {
      code: "invalid-checkpoint",
      names: [step],
    });
    const wrong = { tensors: {}, metadata: metadata.set("step", "soon") };
    await expectError(() => from(wrong), { code: "invalid-checkpoint", names: ["soon"] });
  });
});

test("steps of any number of parameters are read", () => {
  const one = vector(1); // more than an engine takes as arguments
  const tensors = new Map(Array.from({ length: 130_000 }, (_, i) => [`optimizer.p${i}.step`, one]));
  tensors.set("optimizer.last.step", vector(2));
  expect(fromTorch({ tensors }).step).toBe(2);
});

test("names are those of each library", () => {
  const state: TrainingState = {
    params: { a: [{ w: vector(1) }] },
    optimizers: {
      adam: {
        step: 3,
        hyperparameters: adam,
        exp_avg: { a: [{ w: vector(2) }] },
        exp_avg_sq: { a: [{ w: vector(3) }] },
      },
    },
    step: 5,
  };
  const taken = takeSnapshot(state);
  expect([...toTorch(taken).tensors]).toEqual([
    ["model.a.0.w", vector(1)],
    ["optimizer.a.0.w.exp_avg", vector(2)],
    ["optimizer.a.0.w.exp_avg_sq", vector(3)],
    ["optimizer.a.0.w.step", tensor(3, [], "float32")],
  ]);
  expect([...toOptax(taken).tensors]).toEqual([
    ["params.a.0.w", vector(1)],
    ["opt_state.0.count", tensor(3, [], "int32")],
    ["opt_state.0.mu.a.0.w", vector(2)],
    ["opt_state.0.nu.a.0.w", vector(3)],
  ]);
  expect([...toMlx(taken).tensors]).toEqual([
    ["model.a.0.w", vector(1)],
    ["optimizer.a.0.w.m", vector(2)],
    ["optimizer.a.0.w.v", vector(3)],
    ["optimizer.step", tensor(3, [], "uint64")],
    ["optimizer.learning_rate", tensor(0.1, [], "float32")],
  ]);
  expect(Object.fromEntries(toTorch(taken).metadata)).toEqual({
    format: "pt",
    step: "5",
    config: "{}",
    hyperparameters: JSON.stringify(adam),
  });
});

test("what a library does otherwise is refused, by name", async () => {
  const state = (more: object, settings: Partial<AdamHyperparameters> = {}) =>
    takeSnapshot({
      params: { w: vector(1), b: vector(1) },
      optimizers: {
        adam: {
          step: 1,
          exp_avg: { w: vector(1) },
          hyperparameters: { ...adam, ...settings },
          ...more,
        },
      },
      step: 1,
    });
  const amsgrad = state({ max_exp_avg_sq: { w: vector(1) } });
  const uneven = state({ step: { w: 1, b: 2 } });
  const uncorrected = state({}, { bias_correction: false });
  const rooted = state({}, { eps_root: 1e-8 });
  const cases: [to: typeof toTorch, snapshot: Snapshot, names: string[]][] = [
    [toOptax, amsgrad, ["Optax|optax", "max_exp_avg_sq"]],
    [toMlx, amsgrad, ["MLX", "max_exp_avg_sq"]],
    [toOptax, uneven, ["Optax", '"b"']],
    [toMlx, uneven, ["MLX", '"b"']],
    [toTorch, uncorrected, ["bias_correction"]],
    [toOptax, uncorrected, ["bias_correction"]],
    [toTorch, rooted, ["eps_root"]],
    [toMlx, rooted, ["eps_root"]],
    [toOptax, state({ step: 2 ** 31 }), ["int32"]],
    [toTorch, state({ step: 2 ** 24 + 1 }), ["float32"]],
    [toTorch, state({ "a.b": { w: vector(1) } }), ["a\\.b"]],
  ];
  for (const [to, wrong, names] of cases)
    await expectError(() => to(wrong), { code: "unsupported", names });
  expect(toTorch(amsgrad).tensors.has("optimizer.w.max_exp_avg_sq")).toBe(true);
  expect(toTorch(uneven).tensors.get("optimizer.b.step")).toEqual(tensor(2, [], "float32"));
  expect(toMlx(uncorrected).tensors.has("optimizer.w.m")).toBe(true);
  expect(toOptax(rooted).tensors.has("opt_state.0.mu.w")).toBe(true);
});
