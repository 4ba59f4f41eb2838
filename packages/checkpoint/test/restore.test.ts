import {
  type LeafAdapter,
  restoreSnapshot,
  type Snapshot,
  safetensorsCheckpoint,
  type Tensor,
  type TrainingState,
  takeSnapshot,
  tensor,
} from "@tensorjar/checkpoint";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectError, random } from "../../../tooling/testing.js";
import { adamState, content, copyOf, gather } from "./support.js";

const saved = async (state: TrainingState): Promise<Snapshot> =>
  safetensorsCheckpoint.load(await gather(safetensorsCheckpoint.chunks(state)));
const vector = (...values: number[]) => tensor(Float32Array.from(values));

describe("restoring a snapshot", () => {
  test("is refused for what is no snapshot and into what is no state", async () => {
    const state = adamState(random(1));
    const snapshot = takeSnapshot(state);
    const restore =
      (...args: unknown[]) =>
      () =>
        Reflect.apply(restoreSnapshot, undefined, args);
    for (const given of [undefined, null, 5, {}, state]) {
      await expectError(restore(given, state), { code: "invalid-argument", names: ["snapshot"] });
    }
    for (const given of [undefined, null, 5]) {
      const misuse = { code: "invalid-argument" } as const;
      await expectError(restore(snapshot, given), misuse);
      await expectError(restore(snapshot, { ...state, params: given }), misuse);
      await expectError(restore(snapshot, { ...state, optimizers: given }), misuse);
      await expectError(restore(snapshot, { ...state, optimizers: { adam: given } }), misuse);
    }
  });

  test("fills the live memory, every slot, and the steps", async () => {
    const trained = adamState(random(1), 12);
    const live = adamState(random(2), 0);
    const { weight } = live.params.layers[0] ?? {};
    const memory = weight?.data;
    const report = restoreSnapshot(await saved(trained), live);
    expect(content(takeSnapshot(live))).toEqual(content(takeSnapshot(trained)));
    expect(live.params.layers[0]?.weight).toBe(weight);
    expect(weight?.data).toBe(memory);
    expect(live.step).toBe(12);
    expect(live.optimizers.adam.step).toBe(12);
    expect(report.missing).toEqual([]);
    expect(report.unexpected).toEqual([]);
    expect(report.loaded).toHaveLength(12);
    expect(report.loaded).toContain("params.layers.0.weight");
    expect(report.loaded).toContain("optimizers.adam.exp_avg_sq.layers.1.bias");
  });

  test("puts the snapshot's arrays in place when asked to, also for a tree that is one array", () => {
    const make = (value: number) => ({
      params: vector(value),
      optimizers: { sgd: { step: value, momentum: vector(value) } },
      step: value,
      extra: { seed: tensor(Uint32Array.of(value)) },
    });
    const snapshot = takeSnapshot(make(5));
    const live = make(0);
    restoreSnapshot(snapshot, live, { assign: "replace" });
    expect(live).toEqual(make(5));
    expect(live.params).toBe(snapshot.params.get(""));
  });

  test("lists every problem of every kind at once, and changes nothing", async () => {
    const snapshot = takeSnapshot({
      params: {
        same: vector(1),
        shape: vector(1, 2),
        dtype: tensor(new Float64Array(1)),
        old: vector(1),
      },
      optimizers: {
        adam: {
          step: 4,
          exp_avg: { same: vector(1), shape: vector(1, 2) },
          extra_slot: { same: vector(1) },
        },
        rows: { step: { same: 4, old: 5 } },
        gone: { step: 4 },
      },
      step: 4,
      extra: { rng: tensor(new Uint32Array(4)) },
    });
    const live: TrainingState = {
      params: { same: vector(7), shape: vector(7), dtype: vector(7), fresh: vector(7) },
      optimizers: {
        adam: { step: 0, exp_avg: { same: vector(7), shape: vector(7) } },
        rows: { step: { same: 0, fresh: 0 } },
        sgd: { step: 0 },
      },
      step: 0,
    };
    const before = copyOf(live);
    const error = await expectError(() => restoreSnapshot(snapshot, live), {
      code: "tree-mismatch",
    });
    const problems = error.details.problems?.map(({ kind, path }) => `${kind} ${path}`).sort();
    expect(problems).toEqual([
      "dtype params.dtype",
      "missing optimizers.rows.step.fresh",
      "missing optimizers.sgd.step",
      "missing params.fresh",
      "shape optimizers.adam.exp_avg.shape",
      "shape params.shape",
      "unexpected extra.rng",
      "unexpected optimizers.adam.extra_slot.same",
      "unexpected optimizers.gone.step",
      "unexpected optimizers.rows.step.old",
      "unexpected params.old",
    ]);
    expect(live).toEqual(before);
  });

  test("gives steps in the form that the live optimizer counts in, where they say the same", async () => {
    const restore = (from: TrainingState["optimizers"][string]["step"], to: typeof from) => {
      const live = { params: {}, optimizers: { o: { step: to } }, step: 0 };
      restoreSnapshot(
        takeSnapshot({ params: {}, optimizers: { o: { step: from } }, step: 9 }),
        live,
      );
      return live.optimizers.o.step;
    };
    expect(restore(5, 0)).toBe(5);
    expect(restore({ a: 5, b: 6 }, { a: 0, b: 0 })).toEqual({ a: 5, b: 6 });
    expect(restore({ a: 5, b: 5 }, 0)).toBe(5);
    expect(restore(5, { a: 0, b: 0 })).toEqual({ a: 5, b: 5 });
    const error = await expectError(() => restore({ a: 5, b: 6 }, 0), { code: "tree-mismatch" });
    expect(error.details.problems?.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      "missing optimizers.o.step",
      "unexpected optimizers.o.step.a",
      "unexpected optimizers.o.step.b",
    ]);
  });

  test("leaves alone what the file lacks, and out what the state lacks, when partial", () => {
    const snapshot = takeSnapshot({
      params: { a: vector(1), old: vector(1) },
      optimizers: { adam: { step: 4, m: { a: vector(1) } } },
      step: 4,
    });
    const live = {
      params: { a: vector(7), b: vector(8) },
      optimizers: { sgd: { step: 2 } },
      step: 0,
    };
    const report = restoreSnapshot(snapshot, live, { mode: "partial" });
    expect(live).toEqual({
      params: { a: vector(1), b: vector(8) },
      optimizers: { sgd: { step: 2 } },
      step: 4,
    });
    expect(report).toEqual({
      loaded: ["params.a"],
      missing: ["params.b", "optimizers.sgd.step"],
      unexpected: ["params.old", "optimizers.adam.m.a", "optimizers.adam.step"],
    });
  });

  test("takes other shapes and dtypes only when told to", async () => {
    const state = (n: number, dtype: "float32" | "float64"): TrainingState => ({
      params: {
        w: tensor(
          Array.from({ length: n }, (_, i) => i + 1),
          [n],
          dtype,
        ),
      },
      optimizers: {},
      step: n,
    });
    const live = state(1, "float32");
    await expectError(() => restoreSnapshot(takeSnapshot(state(3, "float32")), live), {
      code: "tree-mismatch",
    });
    const snapshot = takeSnapshot(state(3, "float32"));
    restoreSnapshot(snapshot, live, { shape: "any" });
    expect(live).toEqual(state(3, "float32"));
    expect(Reflect.get(live.params, "w").data).not.toBe(snapshot.params.get("w")?.data);
    restoreSnapshot(takeSnapshot(state(3, "float64")), live, { dtype: "cast" });
    expect(live).toEqual(state(3, "float32"));
    restoreSnapshot(takeSnapshot(state(3, "float64")), live, { dtype: "keep" });
    expect(live).toEqual(state(3, "float64"));
  });

  test("refuses moments of another shape than their parameter, whatever shapes may be", async () => {
    const snapshot = takeSnapshot({
      params: { means: vector(1, 2, 3), scales: vector(1) },
      optimizers: {
        means: {
          step: { default: 2 },
          exp_avg: { default: vector(1) },
          exp_avg_sq: { default: vector(1) },
        },
        adam: { step: 2, exp_avg: { scales: vector(1, 2) }, rows: { scales: vector(1, 2, 3) } },
      },
      step: 2,
    });
    const live = {
      params: { means: vector(7), scales: vector(7), fresh: vector(7) },
      optimizers: {
        means: {
          step: { default: 0 },
          exp_avg: { default: vector(7) },
          exp_avg_sq: { default: vector(7) },
        },
        adam: { step: 0, exp_avg: { scales: vector(7) }, rows: { scales: vector(7) } },
      },
      step: 0,
    };
    const before = copyOf(live);
    const error = await expectError(() => restoreSnapshot(snapshot, live, { shape: "any" }), {
      code: "tree-mismatch",
      names: ["optimizers\\.adam\\.exp_avg\\.scales", "params\\.fresh"],
    });
    expect(error.details.problems).toEqual([
      { kind: "missing", path: "params.fresh", expected: { dtype: "float32", shape: [1] } },
      { kind: "shape", path: "optimizers.means.exp_avg.default", expected: [3], actual: [1] },
      { kind: "shape", path: "optimizers.means.exp_avg_sq.default", expected: [3], actual: [1] },
      { kind: "shape", path: "optimizers.adam.exp_avg.scales", expected: [1], actual: [2] },
    ]);
    for (const mode of ["strict", "partial"] as const) {
      for (const dtype of ["exact", "keep", "cast"] as const) {
        const options = { shape: "any", mode, dtype } as const;
        await expectError(() => restoreSnapshot(snapshot, live, options), {
          code: "tree-mismatch",
        });
        await expectError(
          () => restoreSnapshot(snapshot, live, { ...options, assign: "replace" }),
          {
            code: "tree-mismatch",
          },
        );
      }
    }
    expect(live).toEqual(before);
  });

  test("renames by whole paths, and a name of an .npz by its mapping", () => {
    const snapshot = takeSnapshot({
      params: { a_b: vector(1) },
      optimizers: { o: { step: { a_b: 3 }, m: { a_b: vector(2) } } },
      step: 3,
    });
    const make = () => ({
      params: { a: { b: vector(0) } },
      optimizers: { o: { step: { "a.b": 0 }, m: { a: { b: vector(0) } } } },
      step: 0,
    });
    const wanted = {
      params: { a: { b: vector(1) } },
      optimizers: { o: { step: { "a.b": 3 }, m: { a: { b: vector(2) } } } },
      step: 3,
    };
    const mapped = make();
    const names = {
      toFile: (p: string) => p.replace(".", "_"),
      toTree: (n: string) => n.replace("_", "."),
    };
    restoreSnapshot(snapshot, mapped, { names });
    expect(mapped).toEqual(wanted);
    const renamed = make();
    restoreSnapshot(snapshot, renamed, { rename: (path) => path.replace("a_b", "a.b") });
    expect(renamed).toEqual(wanted);
  });

  test("takes everything back when an adapter or a setter fails at the end", async () => {
    class Device {
      values: Float32Array = Float32Array.of(7);
      readonly broken: boolean;
      constructor(broken: boolean) {
        this.broken = broken;
      }
    }
    const adapter: LeafAdapter<Device> = {
      is: (x): x is Device => x instanceof Device,
      shape: () => [1],
      dtype: () => "float32",
      read: (leaf) => ({ dtype: "float32", shape: [1], data: leaf.values }),
      write(leaf, { data }: Tensor) {
        if (leaf.broken) throw new Error("device lost");
        const before = leaf.values;
        leaf.values = data instanceof Float32Array ? data : before;
        return {
          undo: () => {
            leaf.values = before;
          },
        };
      },
    };
    const snapshot = takeSnapshot({
      params: { a: vector(1), b: vector(1), z: vector(1) },
      optimizers: { o: { step: 3 } },
      step: 3,
    });
    const live = {
      params: { a: vector(7), b: new Device(false), z: new Device(true) },
      optimizers: { o: { step: 0 } },
      step: 0,
    };
    await expect(async () =>
      restoreSnapshot(snapshot, live, { adapters: [adapter] }),
    ).rejects.toThrow("device lost");
    expect(live.params.a).toEqual(vector(7));
    expect(live.params.b.values).toEqual(Float32Array.of(7));
    expect([live.step, live.optimizers.o.step]).toEqual([0, 0]);
    const frozen = Object.freeze({
      params: { a: vector(7), b: vector(7), z: vector(7) },
      optimizers: { o: { step: 0 } },
      step: 0,
    });
    const before = copyOf(frozen);
    await expectError(() => restoreSnapshot(snapshot, frozen), {
      code: "tree-mismatch",
      names: ["read-only"],
    });
    expect(frozen).toEqual(before);
  });

  test("restores into class instances", () => {
    class Linear {
      weight = vector(0, 0);
      readonly inputs = 2;
    }
    class Model {
      head = new Linear();
    }
    const state = () => ({
      params: new Model(),
      optimizers: { o: { step: 0, m: new Model() } },
      step: 0,
    });
    const trained = state();
    trained.params.head.weight.data.set([1, 2]);
    trained.optimizers.o.m.head.weight.data.set([3, 4]);
    trained.step = 2;
    const live = state();
    restoreSnapshot(takeSnapshot(trained), live);
    expect(live).toEqual(trained);
  });

  test("changes everything or nothing, whatever differs", async () => {
    const array = fc.oneof(
      fc.constant(() => vector(1)),
      fc.constant(() => vector(1, 2)),
      fc.constant(() => tensor(Int32Array.of(1))),
    );
    const tree = fc.dictionary(fc.constantFrom("a", "b", "c"), array, { noNullPrototype: true });
    const plan = fc.record({
      params: tree,
      m: tree,
      step: fc.nat(9),
      steps: fc.oneof(
        fc.nat(2),
        fc.dictionary(fc.constantFrom("a", "b"), fc.nat(2), { noNullPrototype: true }),
      ),
    });
    const make = ({
      params,
      m,
      step,
      steps,
    }: typeof plan extends fc.Arbitrary<infer T> ? T : never): TrainingState => ({
      params: Object.fromEntries(Object.entries(params).map(([k, f]) => [k, f()])),
      optimizers: {
        o: {
          step: typeof steps === "number" ? steps : { ...steps },
          m: Object.fromEntries(Object.entries(m).map(([k, f]) => [k, f()])),
        },
      },
      step,
    });
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(plan, plan, fc.boolean(), async (from, to, same) => {
        const source = make(from);
        const live = make(same ? { ...from, step: 0 } : to);
        const before = copyOf(live);
        try {
          restoreSnapshot(takeSnapshot(source), live);
        } catch (error) {
          refused++;
          await expectError(() => Promise.reject(error), { code: "tree-mismatch" });
          expect(live).toEqual(before);
          return;
        }
        expect(live.params).toEqual(source.params);
        expect(live.step).toBe(source.step);
      }),
      { numRuns: 200 },
    );
    expect(refused).toBeGreaterThan(10);
  });
});
