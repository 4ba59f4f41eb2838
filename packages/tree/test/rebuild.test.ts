import { ofType, type Tensor, type TensorOf, tensor, zeros } from "@tensorjar/core";
import {
  buffer,
  flattenTree,
  type LeafAdapter,
  mapTree,
  parameter,
  rebuildTree,
  treeNode,
  visitTree,
} from "@tensorjar/tree";
import { describe, expect, expectTypeOf, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

const f32 = (...values: number[]) => tensor(Float32Array.from(values));

class Dense {
  readonly weight: TensorOf<"float32">;
  readonly units = 3;
  constructor(weight: TensorOf<"float32">) {
    this.weight = weight;
  }
  first(): number | undefined {
    return this.weight.data[0];
  }
}

const template = () =>
  Object.freeze({
    layers: Object.freeze([new Dense(f32(0)), new Dense(f32(0))] as const),
    stats: new Map([["mean", f32(0)]]),
    bare: new Float32Array(1),
    act: "relu",
    none: null,
  });
const flat = {
  "layers.0.weight": f32(1),
  "layers.1.weight": f32(2),
  "stats.mean": f32(3),
  bare: f32(4),
};

describe("rebuildTree", () => {
  test("a new tree of the same structure and classes, from a template that may be frozen and stays as it is", () => {
    const old = template();
    const tree = rebuildTree(old, flat);
    expect(tree.layers[0].weight).toBe(flat["layers.0.weight"]);
    expect(tree.layers[1].first()).toBe(2);
    expect(tree.layers[1]).toBeInstanceOf(Dense);
    expect(tree.layers[1].units).toBe(3);
    expect(tree.stats.get("mean")).toBe(flat["stats.mean"]);
    expect(tree.bare).toBe(flat.bare.data);
    expect([tree.act, tree.none, Array.isArray(tree.layers)]).toEqual(["relu", null, true]);
    expect(old).toEqual(template());
    expect(tree.layers).not.toBe(old.layers);
  });

  test("its type is the template's", () => {
    const tree = rebuildTree(template(), flat);
    expectTypeOf(tree).toEqualTypeOf<ReturnType<typeof template>>();
    expectTypeOf(tree.layers[0].weight.data).toEqualTypeOf<Float32Array>();
    expectTypeOf(mapTree(new Dense(f32(1)), (t) => t)).toEqualTypeOf<Dense>();
    expectTypeOf(parameter(f32(1))).toEqualTypeOf<TensorOf<"float32">>();
    expectTypeOf(flattenTree({})).toEqualTypeOf<Map<string, Tensor>>();
    expect(tree).toEqual(rebuildTree(tree, flat));
  });

  test("problems are those of loadTree, but nothing is read-only", async () => {
    await expectError(() => rebuildTree(template(), { bare: f32(1, 2) }), {
      code: "tree-mismatch",
      names: ["3 missing keys", "1 size mismatch"],
    });
    const partial = rebuildTree(template(), { bare: f32(9) }, { mode: "partial" });
    expect(partial.bare[0]).toBe(9);
    expect(partial.layers[0].weight).toEqual(f32(0));
  });

  test("dtypes are exact or cast, never adopted", async () => {
    const old = { w: f32(0) };
    const given = { w: tensor(Float64Array.of(0.1)) };
    await expectError(() => rebuildTree(old, given), { code: "tree-mismatch" });
    expect(rebuildTree(old, given, { dtype: "cast" }).w).toEqual(f32(0.1));
    await expectError(() => rebuildTree(old, given, { dtype: "keep" }), {
      code: "invalid-argument",
      names: ["keep"],
    });
  });

  test('with assign: "copy" it shares no memory with what was given', () => {
    const given = { w: f32(1), bare: f32(2) };
    const old = { w: f32(0), bare: new Float32Array(1) };
    const tree = rebuildTree(old, given, { assign: "copy" });
    given.w.data[0] = 7;
    given.bare.data[0] = 7;
    expect([tree.w.data[0], tree.bare[0], old.w.data[0], old.bare[0]]).toEqual([1, 2, 0, 0]);
  });

  test("typed arrays stay of their class", () => {
    const old = { clamped: new Uint8ClampedArray(1), bytes: new Uint8Array(1) };
    const tree = rebuildTree(old, {
      clamped: tensor(Uint8Array.of(5)),
      bytes: tensor(Uint8Array.of(6)),
    });
    expect(tree).toEqual({ clamped: new Uint8ClampedArray([5]), bytes: Uint8Array.of(6) });
  });

  test("keys of every kind, holes, getters and hidden fields survive", () => {
    const sparse: Tensor[] = [];
    sparse[2] = f32(0);
    const old = Object.defineProperties(
      JSON.parse('{"__proto__": 0, "constructor": 0}', (_, x) => (x === 0 ? f32(0) : x)),
      {
        hidden: { value: 5 },
        live: { get: () => f32(0), enumerable: true },
        list: { value: sparse, enumerable: true },
      },
    );
    const names = [...flattenTree(old).keys()];
    const tree = rebuildTree(
      old,
      names.map((name, i) => [name, f32(i + 1)] as const),
    );
    expect(names).toEqual(["__proto__", "constructor", "live", "list.2"]);
    expect([...flattenTree(tree).values()].map(({ data }) => data[0])).toEqual([1, 2, 3, 4]);
    expect(tree.hidden).toBe(5);
    expect(Object.getPrototypeOf(tree)).toBe(Object.prototype);
    expect([tree.list.length, 0 in tree.list]).toEqual([3, false]);
  });

  test('a root leaf, and what only: "trainable" and ignore pass over', () => {
    const root = f32(5);
    expect(rebuildTree(f32(0), [["", root]])).toBe(root);
    const old = { w: parameter(f32(0)), mean: buffer(f32(0)), head: f32(0) };
    const tree = rebuildTree(
      old,
      { w: f32(1) },
      { only: "trainable", ignore: (path) => path === "head" },
    );
    expect(tree.w).toEqual(f32(1));
    expect([tree.mean === old.mean, tree.head === old.head]).toEqual([true, true]);
    const kinds: unknown[] = [];
    visitTree(tree, { leaf: (_path, _leaf, kind) => kinds.push(kind) });
    expect(kinds).toEqual(["parameter", "buffer", "array"]);
  });

  test("an adapter must replace, and a class with [treeNode]() cannot be rebuilt", async () => {
    const log: string[] = [];
    const inPlace: LeafAdapter<Dense> = {
      is: (x): x is Dense => x instanceof Dense,
      shape: () => [1],
      dtype: () => "float32",
      read: (x) => x.weight,
      write: () => ({ undo: () => void log.push("undone") }),
    };
    const old = { d: new Dense(f32(0)) };
    await expectError(() => rebuildTree(old, { d: f32(1) }, { adapters: [inPlace] }), {
      code: "unsupported",
      names: ['"d"', "loadTree"],
    });
    expect(log).toEqual(["undone"]);
    const replacing = {
      ...inPlace,
      write: (_: Dense, t: Tensor) => ({ replace: new Dense(t as TensorOf<"float32">) }),
    };
    expect(rebuildTree(old, { d: f32(1) }, { adapters: [replacing] }).d.first()).toBe(1);
    const node = { [treeNode]: () => ({ w: f32(0) }) };
    await expectError(() => rebuildTree({ node }, { "node.w": f32(1) }), {
      code: "unsupported",
      names: ['"node"', "loadTree"],
    });
  });
});

describe("mapTree", () => {
  test("every leaf is mapped, statics and kinds are kept", () => {
    const old = {
      w: parameter(f32(1), { frozen: true }),
      bare: Int32Array.of(2),
      lr: 0.1,
      on: [true, null],
    };
    const seen: string[] = [];
    const tree = mapTree(old, (t) => {
      seen.push(t.dtype);
      return zeros(t.shape, t.dtype) as Tensor;
    });
    expect(seen).toEqual(["float32", "int32"]);
    expect(tree).toEqual({ w: f32(0), bare: Int32Array.of(0), lr: 0.1, on: [true, null] });
    expect(tree.bare).toBeInstanceOf(Int32Array);
    const kinds: unknown[] = [];
    visitTree(
      tree,
      { leaf: (_path, _leaf, kind, trainable) => kinds.push([kind, trainable]) },
      { statics: "skip" },
    );
    expect(kinds).toEqual([
      ["parameter", false],
      ["array", true],
    ]);
  });

  test("plain arrays become leaves of the kind that fn gives", () => {
    const tree = mapTree({ w: f32(1), p: parameter(f32(2)) }, (t) => buffer(ofType(t, "float32")));
    const kinds: unknown[] = [];
    visitTree(tree, { leaf: (path, _, kind) => kinds.push([path, kind]) });
    expect(kinds).toEqual([
      ["w", "buffer"],
      ["p", "parameter"],
    ]);
  });

  test("what fn returns must be a tensor, named by its path", async () => {
    await expectError(() => mapTree({ a: { w: f32(1) } }, () => 5 as never), {
      code: "invalid-argument",
      names: ['"a\\.w"'],
    });
  });

  test("depth and cycles are refused as everywhere", async () => {
    let deep: object = f32(1);
    for (let i = 0; i < 100_000; i++) deep = [deep];
    await expectError(() => mapTree(deep, (t) => t), { code: "limit-exceeded" });
    const loop: unknown[] = [];
    loop.push(loop);
    await expectError(() => mapTree(loop, (t) => t), { code: "path-conflict" });
  });
});

describe("visitTree", () => {
  test("nodes, leaves and statics in order, with their paths", () => {
    const seen: unknown[] = [];
    const w = parameter(f32(1), { frozen: true });
    const dense = new Dense(w);
    const tree = { list: [dense], act: "relu", mean: buffer(f32(2)) };
    visitTree(tree, {
      enter: (path, node) => seen.push(["enter", path, node]),
      leave: (path, node) => seen.push(["leave", path, node]),
      leaf: (path, leaf, kind, trainable) => seen.push(["leaf", path, leaf, kind, trainable]),
      static: (path, value) => seen.push(["static", path, value]),
    });
    expect(seen).toEqual([
      ["enter", "", tree],
      ["enter", "list", tree.list],
      ["enter", "list.0", dense],
      ["leaf", "list.0.weight", w, "parameter", false],
      ["static", "list.0.units", 3],
      ["leave", "list.0", dense],
      ["leave", "list", tree.list],
      ["static", "act", "relu"],
      ["leaf", "mean", tree.mean, "buffer", false],
      ["leave", "", tree],
    ]);
  });

  test("numbers of plain nodes are static once they may be skipped", async () => {
    const seen: unknown[] = [];
    const visitor = {
      leaf() {},
      static: (path: string, value: unknown) => seen.push([path, value]),
    };
    await expectError(() => visitTree({ lr: 0.1 }, visitor), {
      code: "invalid-argument",
      names: ['"lr"'],
    });
    visitTree({ lr: 0.1, n: [1n] }, visitor, { statics: "skip", prefix: "p" });
    expect(seen).toEqual([
      ["p.lr", 0.1],
      ["p.n.0", 1n],
    ]);
  });

  test("keys are sorted by code point where asked", () => {
    const seen: string[] = [];
    visitTree(
      { b: f32(1), a: { d: f32(1), c: f32(1) } },
      { leaf: (path) => seen.push(path) },
      { order: "sorted" },
    );
    expect(seen).toEqual(["a.c", "a.d", "b"]);
  });

  test("parameter and buffer share memory with what they are given, and check it", async () => {
    const w = f32(1, 2);
    expect(parameter(w).data).toBe(w.data);
    expect(buffer(w)).toEqual(w);
    await expectError(
      () => parameter({ dtype: "float32", shape: [3], data: new Float32Array(1) }),
      { code: "invalid-shape" },
    );
  });
});
