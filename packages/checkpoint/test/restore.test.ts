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
import { adamState, content, gather } from "./support.js";

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
    const before = structuredClone(live);
    const error = await expectError(() => restoreSnapshot(snapshot, live), {
      code: "tree-mismatch",
    });
    for (const { path } of error.details.problems ?? []) expect(error.message).toContain(path);
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

  test("says how many more problems there are than the message names", async () => {
    const params = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`p${i}`, vector(i)]));
    const snapshot = takeSnapshot({ params, optimizers: {}, step: 1 });
    const live = { params: {}, optimizers: {}, step: 0 };
    const { message } = await expectError(() => restoreSnapshot(snapshot, live), {
      code: "tree-mismatch",
    });
    expect(message).toMatch(/in all: .*"params\.p49", and 10 more$/m);
    expect(message).not.toContain("p50");
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

  test("loses and invents no step where the forms differ", async () => {
    type Step = TrainingState["optimizers"][string]["step"];
    const state = (step: Step, ...paths: string[]) => ({
      params: {},
      optimizers: { o: { step, m: Object.fromEntries(paths.map((path) => [path, vector(1)])) } },
      step: 1,
    });
    const fits: [from: Step, to: Step, paths: string[], result: Step][] = [
      [5, { a: 0, b: 0 }, ["a", "b"], { a: 5, b: 5 }],
      [5, { "a.w": 0 }, ["a.w"], { "a.w": 5 }],
      [{ a: 5, b: 5 }, 0, ["a", "b"], 5],
      [{ a: 5, b: 5 }, 0, ["a"], 5],
      [{}, {}, ["a"], {}],
    ];
    for (const [from, to, paths, result] of fits) {
      const live = state(to, ...paths);
      restoreSnapshot(takeSnapshot(state(from, ...paths)), live);
      expect(live.optimizers.o.step).toEqual(result);
    }
    const unfit: [from: Step, to: Step, paths: string[], problems: string[]][] = [
      [5, {}, ["a"], ["unexpected a"]],
      [5, {}, [], ["unexpected"]],
      [5, { a: 0 }, ["a", "b"], ["unexpected b"]],
      [5, { zz: 0 }, ["a"], ["missing zz", "unexpected a"]],
      [5, { a: 0, zz: 0 }, ["a"], ["missing zz"]],
      [{ a: 3 }, 7, ["a", "b"], ["missing", "unexpected a"]],
      [{}, 7, ["a"], ["missing"]],
      [{}, { a: 7 }, ["a"], ["missing a"]],
      [{ a: 3 }, {}, ["a"], ["unexpected a"]],
    ];
    for (const [from, to, paths, problems] of unfit) {
      const live = state(to, ...paths);
      const snapshot = takeSnapshot(state(from, ...paths));
      const error = await expectError(() => restoreSnapshot(snapshot, live), {
        code: "tree-mismatch",
      });
      const found = error.details.problems?.map(({ kind, path }) =>
        `${kind} ${path}`.replace(/optimizers\.o\.step\.?/, "").trim(),
      );
      expect(found, JSON.stringify([from, to])).toEqual(problems);
      expect(live).toEqual(state(to, ...paths));
      restoreSnapshot(snapshot, live, { mode: "partial" });
    }
  });

  test("renames the steps of paths as it renames the paths", () => {
    const weight = (name: string) => ({ [name]: vector(1) });
    const live = {
      params: weight("new"),
      optimizers: {
        adam: { step: { new: 0 }, m: weight("new") },
        sgd: { step: { new: 0, "old.b": 0 } },
      },
      step: 0,
    };
    const snapshot = takeSnapshot({
      params: weight("old"),
      optimizers: { adam: { step: 5, m: weight("old") }, sgd: { step: 6 } },
      step: 5,
    });
    restoreSnapshot(snapshot, live, { rename: (path) => path.replace(/\.old\b/, ".new") });
    expect(live.optimizers.adam.step).toEqual({ new: 5 });
    expect(live.optimizers.sgd.step).toEqual({ new: 6, "old.b": 6 });
  });

  test("restores the steps of parameters that are one array", async () => {
    type Step = TrainingState["optimizers"][string]["step"];
    const state = (step: Step) => ({
      params: new Float32Array(2),
      optimizers: { adam: { step, exp_avg: new Float32Array(2) } },
      step: 1,
    });
    const forms: [from: Step, to: Step, result: Step][] = [
      [{ "": 2 }, { "": 0 }, { "": 2 }],
      [2, { "": 0 }, { "": 2 }],
      [{ "": 2 }, 0, 2],
      [2, 0, 2],
    ];
    for (const [from, to, result] of forms) {
      for (const snapshot of [takeSnapshot(state(from)), await saved(state(from))]) {
        const live = state(to);
        const report = restoreSnapshot(snapshot, live);
        expect(live.optimizers.adam.step).toEqual(result);
        expect(report.loaded).toEqual(["params", "optimizers.adam.exp_avg"]);
      }
    }
  });

  test("lists every frozen part by its path, together with the rest", async () => {
    const make = () => ({
      params: vector(1),
      optimizers: {
        adam: { step: 3, m: vector(1) },
        rows: { step: { a: 3, b: 3 } },
      },
      step: 9,
    });
    const snapshot = takeSnapshot(make());
    const problems = async (live: TrainingState, options = {}): Promise<string[] | undefined> => {
      const before = structuredClone(live);
      const error = await expectError(() => restoreSnapshot(snapshot, live, options), {
        code: "tree-mismatch",
        names: ["read-only"],
      });
      expect(live).toEqual(before);
      return error.details.problems?.map(({ kind, path }) => `${kind} ${path}`);
    };
    const optimizer = make();
    Object.freeze(optimizer.optimizers.adam);
    expect(await problems(optimizer)).toEqual(["read-only optimizers.adam.step"]);
    expect(await problems(optimizer, { assign: "replace" })).toEqual([
      "read-only optimizers.adam.m",
      "read-only optimizers.adam.step",
    ]);
    const all = Object.freeze(make());
    for (const each of Object.values(all.optimizers)) Object.freeze(Object.freeze(each).step);
    const steps = [
      "read-only optimizers.adam.step",
      "read-only optimizers.rows.step.a",
      "read-only optimizers.rows.step.b",
      "read-only step",
    ];
    expect((await problems(all))?.sort()).toEqual(steps);
    const other = Object.freeze({ ...all, params: { w: vector(1) } });
    expect((await problems(other))?.sort()).toEqual([
      "missing params.w",
      ...steps,
      "unexpected params",
    ]);
  });

  test("sets a step by whatever can be set: inherited setters, fields still to be made", async () => {
    class Counting {
      params = { w: vector(1) };
      optimizers = { o: {} as { step: number } }; // as a program without types may begin
      #step = 0;
      get step(): number {
        return this.#step;
      }
      set step(step: number) {
        this.#step = step;
      }
    }
    const from = { params: { w: vector(2) }, optimizers: { o: { step: 4 } }, step: 4 };
    const live = new Counting();
    restoreSnapshot(takeSnapshot(from), live);
    expect([live.step, live.optimizers.o.step]).toEqual([4, 4]);
    class Fixed extends Counting {
      override get step(): number {
        return 1;
      }
    }
    const fixed = new Fixed();
    Object.preventExtensions(fixed.optimizers.o);
    const error = await expectError(() => restoreSnapshot(takeSnapshot(from), fixed), {
      code: "tree-mismatch",
    });
    expect(error.details.problems?.map(({ kind, path }) => `${kind} ${path}`).sort()).toEqual([
      "read-only optimizers.o.step",
      "read-only step",
    ]);
  });

  test("takes back steps that a setter refuses, also those that were not there", async () => {
    const from = { params: { w: vector(2) }, optimizers: { o: { step: 4 } }, step: 4 };
    let step = 0;
    const live = {
      params: { w: vector(1) },
      optimizers: { o: {} as { step: number } }, // as a program without types may begin
      get step(): number {
        return step;
      },
      set step(to: number) {
        step = to;
        if (to > 3) throw new RangeError("too many");
      },
    };
    await expect(async () => restoreSnapshot(takeSnapshot(from), live)).rejects.toThrow("too many");
    expect(step).toBe(0);
    expect(Object.keys(live.optimizers.o)).toEqual([]);
    expect(live.params.w).toEqual(vector(1));
  });

  test("refuses steps in a Map, which would be lost", async () => {
    const snapshot = takeSnapshot({ params: {}, optimizers: { o: { step: { a: 1 } } }, step: 1 });
    const live = { params: {}, optimizers: { o: { step: new Map([["a", 0]]) } }, step: 0 };
    await expectError(() => Reflect.apply(restoreSnapshot, undefined, [snapshot, live]), {
      code: "invalid-argument",
      names: ["optimizers\\.o\\.step", "Map"],
    });
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
    const before = structuredClone(live);
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

  test("compares the two moments with each other where their parameter is not known", async () => {
    const moments = (first: number[], second: number[]) => ({
      params: { means: vector(1) },
      optimizers: {
        all: {
          step: 1,
          exp_avg: { joint: vector(...first) },
          exp_avg_sq: { joint: vector(...second) },
        },
        one: { step: 1, exp_avg_sq: { alone: vector(...second) } },
      },
      step: 1,
    });
    const live = moments([7], [7]);
    const before = structuredClone(live);
    const unlike = takeSnapshot(moments([1, 2], [1, 2, 3]));
    const error = await expectError(() => restoreSnapshot(unlike, live, { shape: "any" }), {
      code: "tree-mismatch",
      names: ["optimizers\\.all\\.exp_avg_sq\\.joint", "exp_avg is \\(2"],
    });
    expect(error.details.problems).toEqual([
      { kind: "shape", path: "optimizers.all.exp_avg_sq.joint", expected: [2], actual: [3] },
    ]);
    expect(live).toEqual(before);
    const alike = moments([1, 2], [3, 4]);
    restoreSnapshot(takeSnapshot(alike), live, { shape: "any" });
    expect(live).toEqual(alike);
  });

  test("changes nothing for unfit moments, whatever is renamed, and renames nothing but paths", async () => {
    const zeros = (...shape: number[]) =>
      tensor(new Float32Array(shape.reduce((n, dim) => n * dim, 1)), shape);
    const moments = () => ({ exp_avg: { w: zeros(2, 3) }, exp_avg_sq: { w: zeros(2, 3) } });
    const snapshot = takeSnapshot({
      params: { w: zeros(3, 3) },
      optimizers: { adam: { step: 5, ...moments() } },
      step: 5,
    });
    const flat = () => ({
      params: { w: zeros(2, 3) },
      optimizers: { adam: { step: 0, ...moments() } },
      step: 1,
    });
    const nested = () => ({ params: { encoder: { w: zeros(2, 3) } }, optimizers: {}, step: 1 });
    const renames: [rename: (path: string) => string, make: () => TrainingState][] = [
      [(path) => path, flat],
      [(path) => path.replaceAll(" ", "_"), flat],
      [(path) => path.replaceAll(/[^\w.]/g, ""), flat],
      [(path) => `params.encoder.${path.slice(7)}`, nested],
      [(path) => path.replace("params.", "params.encoder."), nested],
      [(path) => `elsewhere.${path}`, flat],
    ];
    for (const mode of ["partial", "strict"] as const) {
      for (const [rename, make] of renames) {
        const live = make();
        const given: string[] = [];
        const restore = () =>
          restoreSnapshot(snapshot, live, {
            shape: "any",
            mode,
            rename(path) {
              given.push(path);
              return rename(path);
            },
          });
        const error = await expectError(restore, {
          code: "tree-mismatch",
          names: ["exp_avg_sq\\.w.*\\(2, 3\\)", "\\(3, 3\\)", 'shape: "exact"'],
        });
        expect(live).toEqual(make());
        const [first, second, ...others] = [...(error.details.problems ?? [])].reverse();
        const unfit = { kind: "shape", expected: [3, 3], actual: [2, 3] };
        expect(first).toEqual({ ...unfit, path: rename("optimizers.adam.exp_avg_sq.w") });
        expect(second).toEqual({ ...unfit, path: rename("optimizers.adam.exp_avg.w") });
        if (mode === "partial") expect(others).toEqual([]);
        const known = [
          "params.w",
          "optimizers.adam.exp_avg.w",
          "optimizers.adam.exp_avg_sq.w",
          "optimizers.adam.step",
          "step",
        ];
        expect(new Set(given)).toEqual(new Set(known));
      }
    }
  });

  test("lists any number of problems beside unfit moments", async () => {
    const one = vector(1); // more than an engine takes as arguments
    const many = Object.fromEntries(Array.from({ length: 130_000 }, (_, i) => [`p${i}`, one]));
    const snapshot = takeSnapshot({
      params: { w: vector(1, 2) },
      optimizers: { adam: { step: 1, exp_avg: { w: vector(1) } } },
      step: 1,
    });
    const live = { params: { w: vector(7), ...many }, optimizers: {}, step: 0 };
    const error = await expectError(() => restoreSnapshot(snapshot, live, { shape: "any" }), {
      code: "tree-mismatch",
    });
    expect(error.details.problems).toHaveLength(130_003);
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
    const before = structuredClone(frozen);
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
        const before = structuredClone(live);
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
