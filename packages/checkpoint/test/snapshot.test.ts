import { type TrainingState, takeSnapshot, tensor } from "@tensorjar/checkpoint";
import { describe, expect, test } from "vitest";
import { expectError, random } from "../../../tooling/testing.js";
import { adamState } from "./support.js";

const empty = { params: {}, optimizers: {}, step: 0 };

describe("a snapshot", () => {
  test("owns its arrays and is frozen", async () => {
    const state = adamState(random(1));
    const snapshot = takeSnapshot(state);
    const before = state.params.layers[0]?.weight.data.slice();
    state.params.layers[0]?.weight.data.fill(7);
    const weight = snapshot.params.get("layers.0.weight");
    expect(weight?.data).toEqual(before);
    expect(Object.isFrozen(snapshot)).toBe(true);
    expect(Object.isFrozen(weight)).toBe(true);
    expect(Object.isFrozen(weight?.shape)).toBe(true);
    expect(Object.isFrozen(snapshot.config)).toBe(true);
    expect(Object.isFrozen(snapshot.optimizers.get("adam"))).toBe(true);
    const slots = snapshot.optimizers.get("adam")?.slots;
    for (const map of [
      snapshot.params,
      snapshot.optimizers,
      snapshot.extra,
      slots,
      slots?.get("exp_avg"),
    ]) {
      for (const change of ["set", "delete", "clear"]) {
        await expectError(() => Reflect.get(Object(map), change).call(map, "a", 1), {
          code: "invalid-argument",
          names: ["frozen"],
        });
      }
    }
    expect(new Map(snapshot.params).set("a", tensor(new Float32Array(1))).size).toBe(5);
  });

  test("holds any optimizer: any slot of any shape, steps by parameter, a parameter without state yet", () => {
    const state: TrainingState = {
      params: { a: tensor(new Float32Array(6), [2, 3]), b: tensor(new Float32Array(4)) },
      optimizers: {
        adafactor: {
          step: { a: 3 },
          hyperparameters: { decay: -0.8, groups: [{ lr: 0.1, params: ["a"] }] },
          exp_avg_sq_row: { a: tensor(new Float32Array(2)) },
          exp_avg_sq_col: { a: tensor(new Float32Array(3)), b: undefined },
          notes: null,
        },
      },
      step: 3,
    };
    const found = takeSnapshot(state).optimizers.get("adafactor");
    expect(found?.step).toEqual(new Map([["a", 3]]));
    expect([...(found?.slots.keys() ?? [])]).toEqual(["exp_avg_sq_row", "exp_avg_sq_col"]);
    expect(found?.slots.get("exp_avg_sq_col")).toEqual(
      new Map([["a", tensor(new Float32Array(3))]]),
    );
    expect(found?.hyperparameters).toEqual({ decay: -0.8, groups: [{ lr: 0.1, params: ["a"] }] });
  });

  test("has {} as the configuration of a state without one", () => {
    expect(takeSnapshot(empty)).toMatchObject({
      version: 1,
      step: 0,
      config: {},
      configText: "{}",
    });
    expect(takeSnapshot({ ...empty, config: null }).config).toBe(null);
  });

  test("keeps a configuration with __proto__ as data", () => {
    const config: unknown = JSON.parse('{"__proto__":{"polluted":1},"a":[-0,1e21]}');
    const snapshot = takeSnapshot({ ...empty, config });
    expect(snapshot.configText).toBe('{"__proto__":{"polluted":1},"a":[-0,1e+21]}');
    expect(Object.keys(snapshot.config ?? {})).toEqual(["__proto__", "a"]);
    expect("polluted" in {}).toBe(false);
  });

  test("refuses a configuration that JSON would not give back, naming where", async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = [cycle];
    const cases: [config: unknown, path: string][] = [
      [{ a: [1, { b: Number.NaN }] }, "config.a[1].b"],
      [{ a: Number.POSITIVE_INFINITY }, "config.a"],
      [{ a: undefined }, "config.a"],
      [{ a: () => 1 }, "config.a"],
      [{ a: 1n }, "config.a"],
      [{ a: Symbol("s") }, "config.a"],
      [{ a: new Date(0) }, "config.a"],
      [{ a: new Map() }, "config.a"],
      [{ a: new Float32Array(2) }, "config.a"],
      // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
      [[1, , 3], "config[1]"],
      [cycle, "config.self[0]"],
      [Number.NaN, "config"],
    ];
    for (const [config, path] of cases) {
      const error = await expectError(() => takeSnapshot({ ...empty, config }), {
        code: "invalid-argument",
      });
      expect(error.details.path).toBe(path);
      expect(error.message).toContain(path);
    }
    const twice = { x: 1 };
    expect(takeSnapshot({ ...empty, config: [twice, twice] }).configText).toBe('[{"x":1},{"x":1}]');
  });

  test("refuses a configuration nested without end", async () => {
    let config: unknown = 1;
    for (let i = 0; i < 100_000; i++) config = [config];
    await expectError(() => takeSnapshot({ ...empty, config }), { code: "limit-exceeded" });
  });

  test("refuses steps that are no count, naming them", async () => {
    for (const step of [-1, 1.5, Number.NaN, 2 ** 53, "3", 3n, undefined, null]) {
      const state = { ...empty, step } as unknown as TrainingState; // what a program without types may give
      await expectError(() => takeSnapshot(state), { code: "invalid-argument", names: ["step"] });
      const optimizers = { adam: { step } } as unknown as TrainingState["optimizers"]; // as above
      await expectError(() => takeSnapshot({ ...empty, optimizers }), {
        code: "invalid-argument",
        names: ["optimizers\\.adam\\.step"],
      });
    }
    const optimizers = { adam: { step: { w: -1 } } };
    await expectError(() => takeSnapshot({ ...empty, optimizers }), {
      code: "invalid-argument",
      names: ["optimizers\\.adam\\.step\\.w"],
    });
    expect(takeSnapshot({ ...empty, step: 2 ** 53 - 1 }).step).toBe(2 ** 53 - 1);
  });

  test("refuses what an optimizer would lose, and says where settings go", async () => {
    const optimizers = { adam: { step: 1, lr: 0.1 } };
    await expectError(() => takeSnapshot({ ...empty, optimizers }), {
      code: "invalid-argument",
      names: ["optimizers\\.adam\\.lr", "hyperparameters"],
    });
    expect(
      takeSnapshot({ ...empty, optimizers }, { statics: "skip" }).optimizers.get("adam")?.slots
        .size,
    ).toBe(0);
  });

  test("refuses states of another form, naming the part", async () => {
    const cases: [part: string, state: object | null][] = [
      ["training state", null],
      ["params", { ...empty, params: undefined }],
      ["optimizers", { ...empty, optimizers: undefined }],
      ["optimizers\\.adam", { ...empty, optimizers: { adam: 3 } }],
      ["params\\.w", { ...empty, params: { w: 3 } }],
      ["optimizers\\.adam\\.m\\.w", { ...empty, optimizers: { adam: { step: 1, m: { w: 3 } } } }],
      ["metrics", { ...empty, metrics: 3 }],
      ["loss", { ...empty, metrics: { loss: "low" } }],
      ["extra", { ...empty, extra: 3 }],
    ];
    for (const [part, state] of cases) {
      await expectError(() => takeSnapshot(state as TrainingState), {
        code: "invalid-argument",
        names: [part],
      }); // as above
    }
    await expectError(
      () => takeSnapshot({ ...empty, params: { "": tensor(new Float32Array(1)) } }),
      {
        code: "invalid-name",
      },
    );
  });
});
