import {
  isTensorjarError,
  type Problem,
  type Tensor,
  TensorjarError,
  tensor,
  zeros,
} from "@tensorjar/core";
import {
  buffer,
  flattenTree,
  type LeafAdapter,
  type LoadOptions,
  loadTree,
  parameter,
  treeNode,
  visitTree,
} from "@tensorjar/tree";
import { describe, expect, test } from "vitest";
import { bytesOf, everyDType, expectError } from "../../../tooling/testing.js";

const f32 = (...values: number[]) => tensor(Float32Array.from(values));
const i32 = (...values: number[]) => tensor(Int32Array.from(values));

function problemsOf(fn: () => unknown): readonly Problem[] {
  try {
    fn();
  } catch (error) {
    if (isTensorjarError(error, "tree-mismatch")) return error.details.problems ?? [];
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** Every reference and every byte of a tree, to compare before and after. */
function imprint(tree: unknown): unknown[] {
  const seen: unknown[] = [];
  visitTree(
    tree,
    {
      enter: (path, node) => seen.push(path, node, Object.getOwnPropertyDescriptors(node)),
      leaf(path, leaf) {
        const tensor = flattenTree(leaf).get("");
        seen.push(path, leaf, tensor && bytesOf(tensor.data).slice());
      },
    },
    { statics: "skip" },
  );
  return seen;
}

function expectUnchanged(tree: unknown, fn: () => unknown): void {
  const before = imprint(tree);
  expect(fn).toThrow();
  const after = imprint(tree);
  expect(after).toEqual(before);
  for (const [i, value] of before.entries()) {
    if (!(value instanceof Uint8Array) && typeof value === "object" && i % 3 === 1)
      expect(after[i]).toBe(value);
  }
}

describe("assignment", () => {
  test("tensors are replaced by the file's own objects, in objects, arrays, Maps and class instances", () => {
    class Layer {
      weight: Tensor = f32(0);
      name = "dense";
    }
    const layer = new Layer();
    const tree = { list: [f32(0), layer], map: new Map([["m", f32(0)]]) };
    const flat = new Map([
      ["map.m", f32(3)],
      ["list.0", f32(1)],
      ["list.1.weight", f32(2)],
    ]);
    const report = loadTree(tree, flat);
    expect(tree.list[0]).toBe(flat.get("list.0"));
    expect(layer.weight).toBe(flat.get("list.1.weight"));
    expect(tree.map.get("m")).toBe(flat.get("map.m"));
    expect(report).toEqual({
      loaded: ["list.0", "list.1.weight", "map.m"],
      missing: [],
      unexpected: [],
    });
  });

  test("bare typed arrays are filled in place, with the bits of float16 too", () => {
    const weights = new Float32Array(3);
    const clamped = new Uint8ClampedArray(1);
    const tree = Object.freeze({ weights, clamped });
    loadTree(tree, { weights: f32(1, -0, Number.NaN), clamped: tensor(Uint8Array.of(200)) });
    expect(weights).toEqual(Float32Array.of(1, -0, Number.NaN));
    expect(clamped[0]).toBe(200);
    const Half = Reflect.get(globalThis, "Float16Array");
    const half = Half === undefined ? new Uint16Array(1) : new Half(1);
    const dtype = Half === undefined ? "uint16" : "float16";
    const bits = tensor(Uint16Array.of(0x3c00), [1], dtype);
    loadTree({ half }, { half: bits });
    expect(new Uint16Array(half.buffer)[0]).toBe(0x3c00);
  });

  test('assign: "copy" fills the live memory and keeps every reference, frozen or not', () => {
    const w = f32(0, 0);
    const tree = Object.freeze({ w, deep: Object.freeze([i32(7)]) });
    const live = w.data;
    const given = f32(1, 2);
    loadTree(tree, { w: given, "deep.0": i32(8) }, { assign: "copy" });
    expect(tree.w).toBe(w);
    expect(w.data).toBe(live);
    expect(live).toEqual(Float32Array.of(1, 2));
    expect(tree.deep[0]?.data).toEqual(Int32Array.of(8));
    given.data[0] = 99;
    expect(live[0]).toBe(1);
  });

  test('a leaf of another shape is replaced with shape: "any", under "copy" by a copy', () => {
    const given = tensor(new Float32Array(6).fill(2), [2, 3]);
    for (const assign of ["copy", "replace"] as const) {
      const tree = { w: f32(1) as Tensor, v: Float32Array.of(1), m: new Float32Array(6) };
      loadTree(tree, { w: given, v: f32(5, 6), m: given }, { assign, shape: "any" });
      expect(tree.w).toEqual(given);
      expect(tree.w.data === given.data).toBe(assign === "replace");
      expect(tree.v).toEqual(Float32Array.of(5, 6));
      expect(tree.m).toEqual(new Float32Array(6).fill(2));
    }
  });

  test("a bare typed array is replaced by a tensor where a typed array would lose the dtype or the shape", () => {
    const bits = tensor(Uint16Array.of(1), [1], "bfloat16");
    const tree: Record<string, unknown> = {
      a: new Float32Array(1),
      b: new Float32Array(1),
      c: new Float32Array(1),
    };
    loadTree(
      tree,
      { a: bits, b: i32(3), c: zeros([2, 2], "float32") },
      { dtype: "keep", shape: "any" },
    );
    expect(tree["a"]).toBe(bits);
    expect(tree["b"]).toEqual(Int32Array.of(3));
    expect(tree["c"]).toEqual(zeros([2, 2]));
  });

  test("a tree that is one leaf can be filled but not replaced", () => {
    const root = f32(0);
    loadTree(root, [["", f32(1)]], { assign: "copy" });
    expect(root.data[0]).toBe(1);
    loadTree(root.data, { model: f32(2) }, { prefix: "model" });
    expect(root.data[0]).toBe(2);
    expect(problemsOf(() => loadTree(root, [["", f32(1)]]))).toEqual([
      { kind: "read-only", path: "", expected: "writable", actual: "read-only" },
    ]);
  });

  test("kinds stay with their leaves", () => {
    const tree = {
      w: parameter(f32(0)),
      frozen: parameter(f32(0), { frozen: true }),
      mean: buffer(f32(0)),
    };
    loadTree(tree, { w: f32(1), frozen: f32(2), mean: f32(3) });
    const kinds: unknown[] = [];
    visitTree(tree, {
      leaf: (path, leaf, kind, trainable) =>
        kinds.push([path, kind, trainable, (leaf as Tensor).data[0]]),
    });
    expect(kinds).toEqual([
      ["w", "parameter", true, 1],
      ["frozen", "parameter", false, 2],
      ["mean", "buffer", false, 3],
    ]);
  });

  test("a leaf does not take over the kind of what it is given", () => {
    const target = { w: f32(0), b: buffer(f32(0)), bare: new Float32Array(2) };
    const given = { w: buffer(f32(1)), b: parameter(f32(2)), bare: parameter(f32(3)) };
    loadTree(target, given, { shape: "any" });
    const kinds: unknown[] = [];
    visitTree(target, { leaf: (path, _, kind, trainable) => kinds.push([path, kind, trainable]) });
    expect(kinds).toEqual([
      ["w", "array", true],
      ["b", "buffer", false],
      ["bare", "array", true],
    ]);
    expect(flattenTree(target).get("w")?.data).toBe(given.w.data);
  });

  test("tensors of the tree itself can be given, in another order", () => {
    const tree = { a: f32(1), b: f32(2), c: Float32Array.of(3), d: Float32Array.of(4) };
    const other: Record<string, string> = { a: "b", b: "a", c: "d", d: "c" };
    loadTree(tree, flattenTree(tree), { assign: "copy", rename: (name) => other[name] ?? name });
    expect([tree.a.data[0], tree.b.data[0], tree.c[0], tree.d[0]]).toEqual([2, 1, 4, 3]);
  });

  test("one tensor at two paths is two leaves; filled with two values it is refused", async () => {
    const tied = f32(0, 0);
    const tree = { embed: tied, head: tied };
    const same = { embed: f32(1, 2), head: f32(1, 2) };
    loadTree(tree, same, { assign: "copy" });
    expect(tied.data).toEqual(Float32Array.of(1, 2));
    const differ = { embed: f32(3, 4), head: f32(3, 5) };
    await expectError(() => loadTree(tree, differ, { assign: "copy" }), {
      code: "path-conflict",
      names: ['"embed"', '"head"', "replace"],
    });
    expect(tied.data).toEqual(Float32Array.of(1, 2));
    loadTree(tree, differ);
    expect(tree).toEqual(differ);
    const pool = new Float32Array(5);
    const apart = { x: pool.subarray(0, 5), none: pool.subarray(1, 1), z: pool.subarray(3, 4) };
    const values = { x: f32(1, 2, 3, 4, 5), none: f32(), z: f32(9) };
    await expectError(() => loadTree(apart, values), { code: "path-conflict", names: ['"z"'] });
    const overlapping = { x: pool.subarray(0, 3), y: pool.subarray(3), z: pool.subarray(1, 2) };
    await expectError(() => loadTree(overlapping, { x: f32(1, 2, 3), y: f32(4, 5), z: f32(9) }), {
      code: "path-conflict",
      names: ['"x"', '"z"'],
    });
    expect(pool).toEqual(new Float32Array(5));
    loadTree({ x: overlapping.x, y: overlapping.y }, { x: f32(1, 2, 3), y: f32(4, 5) });
    expect(pool).toEqual(Float32Array.of(1, 2, 3, 4, 5));
  });
});

describe("a leaf at two paths", () => {
  const layer = () => ({ w: f32(0), sub: new Map<string, unknown>([["b", f32(0)]]) });
  const both = (w: number, w2: number, b: number, b2: number) => ({
    "enc.w": f32(w),
    "enc.sub.b": f32(b),
    "dec.w": f32(w2),
    "dec.sub.b": f32(b2),
  });

  test("by a node that is there twice: one value for both is loaded, two are refused", async () => {
    for (const flat of [both(1, 2, 3, 3), both(1, 1, 3, 4)]) {
      const shared = layer();
      const model = { enc: shared, other: layer(), dec: shared };
      const before = imprint(model);
      const given = { ...flat, "other.w": f32(5), "other.sub.b": f32(6) };
      const { details } = await expectError(() => loadTree(model, given), {
        code: "path-conflict",
        names: ['"dec\\.(w|sub\\.b)"', '"enc\\.(w|sub\\.b)"'],
      });
      expect(details.hint).not.toMatch(/assign/); // which replaces already
      expect(imprint(model)).toEqual(before);
      loadTree(model, { ...given, ...both(7, 7, 8, 8) });
      expect([shared.w.data[0], flattenTree(shared).get("sub.b")?.data[0]]).toEqual([7, 8]);
    }
  });

  test("by a class that makes its node anew: two values are refused", async () => {
    class Layer {
      kernel = f32(0);
      [treeNode](): object {
        const layer = this;
        return {
          get w() {
            return layer.kernel;
          },
          set w(value) {
            layer.kernel = value;
          },
        };
      }
    }
    const shared = new Layer();
    const model = { enc: shared, dec: shared };
    await expectError(() => loadTree(model, { "enc.w": f32(1), "dec.w": f32(2) }), {
      code: "path-conflict",
      names: ['"enc\\.w"', '"dec\\.w"'],
    });
    expect(shared.kernel.data[0]).toBe(0);
    loadTree(model, { "enc.w": f32(3), "dec.w": f32(3) });
    expect(shared.kernel.data[0]).toBe(3);
  });

  test("that lacks one of them, or has it of another shape, is a mismatch as any other", () => {
    const shared = layer();
    const model = { enc: shared, dec: shared };
    const { "dec.w": _, ...without } = both(1, 2, 3, 3);
    expect(problemsOf(() => loadTree(model, without)).map(({ path }) => path)).toEqual(["dec.w"]);
    expect(loadTree(model, without, { mode: "partial" }).missing).toEqual(["dec.w"]);
    expect(shared.w.data[0]).toBe(1);
  });

  test("is refused whatever way it is written: filled once and replaced once, or by an adapter", async () => {
    class Device {
      readonly value: number;
      constructor(value: number) {
        this.value = value;
      }
    }
    const replacing: LeafAdapter<Device> = {
      is: (x): x is Device => x instanceof Device,
      shape: () => [1],
      dtype: () => "float32",
      read: (x) => f32(x.value),
      write: (_, t) => ({ replace: new Device(Number(t.data[0])) }),
    };
    const shared = { bare: new Float32Array(2), device: new Device(0) };
    const model = { enc: shared, dec: shared };
    const given = { "enc.device": f32(1), "dec.device": f32(1), "enc.bare": f32(1, 2) };
    const options: LoadOptions = { adapters: [replacing], shape: "any" };
    const faults = [
      { ...given, "dec.bare": f32(1, 2, 3) },
      { ...given, "dec.bare": f32(1, 2), "dec.device": f32(2) },
    ];
    for (const flat of faults) {
      await expectError(() => loadTree(model, flat, options), {
        code: "path-conflict",
        names: ['"dec\\.(bare|device)"', '"enc\\.(bare|device)"'],
      });
      expect([[...shared.bare], shared.device.value]).toEqual([[0, 0], 0]);
    }
    const ignore = (path: string) => path === "dec.device";
    loadTree(model, { ...faults[1], "dec.device": f32(2) }, { ...options, ignore });
    expect([[...shared.bare], shared.device.value]).toEqual([[1, 2], 1]);
  });

  test("by one tensor in two nodes are two leaves when they are replaced", () => {
    const tied = f32(0);
    const [enc, dec] = [{ w: tied }, { w: tied }];
    const model = { a: enc, b: dec, again: enc };
    loadTree(model, { "a.w": f32(1), "b.w": f32(2), "again.w": f32(1) });
    expect([enc.w.data[0], dec.w.data[0]]).toEqual([1, 2]);
  });

  test("by an adapter that writes in place: one value for both, two are refused and undone", async () => {
    class Device {
      values = [0];
    }
    const inPlace: LeafAdapter<Device> = {
      is: (x): x is Device => x instanceof Device,
      shape: () => [1],
      dtype: () => "float32",
      read: (x) => f32(...x.values),
      write(x, t) {
        const before = x.values;
        x.values = [...(t.data as Float32Array)];
        return {
          undo() {
            x.values = before;
          },
        };
      },
    };
    const tied = new Device();
    const tree = { enc: tied, dec: tied };
    const adapters = [inPlace];
    const different = () => loadTree(tree, { enc: f32(1), dec: f32(2) }, { adapters });
    const { details } = await expectError(different, {
      code: "path-conflict",
      names: ['"enc"', '"dec"'],
    });
    expect(details.hint).not.toMatch(/assign/); // which adapters do not know
    expect(tied.values).toEqual([0]);
    loadTree(tree, { enc: f32(3), dec: f32(3) }, { adapters });
    expect(tied.values).toEqual([3]);
    const write = (_: Device, t: Tensor) => ({
      replace: Object.assign(new Device(), { values: [...(t.data as Float32Array)] }),
    });
    loadTree(tree, { enc: f32(1), dec: f32(2) }, { adapters: [{ ...inPlace, write }] });
    expect([tree.enc.values, tree.dec.values]).toEqual([[1], [2]]);
  });
});

test("what is adopted from memory of the tree that is filled keeps its values", () => {
  for (const names of [
    ["bare", "held", "buffer"],
    ["held", "buffer", "bare"],
  ]) {
    const leaves = { bare: Float32Array.of(1), held: f32(2), buffer: buffer(f32(3)) };
    const tree = Object.fromEntries(Object.entries(leaves));
    const flat = flattenTree(tree);
    const [a = "", b = "", c = ""] = names;
    const given = new Map([a, b, c].map((name, i) => [name, flat.get([b, c, a][i] ?? "")]));
    const expected = new Map([...given].map(([name, t]) => [name, t?.data[0]]));
    loadTree(tree, given as Map<string, Tensor>);
    const now = flattenTree(tree);
    expect(new Map([...expected.keys()].map((name) => [name, now.get(name)?.data[0]]))).toEqual(
      expected,
    );
    expect(tree["bare"]).toBe(leaves.bare);
    visitTree(tree, {
      leaf: (path, _, kind) => expect(kind).toBe(path === "buffer" ? "buffer" : "array"),
    });
  }
});

describe("dtypes", () => {
  test("exact refuses, keep adopts, cast converts", () => {
    const flat = { n: tensor(Int32Array.of(16_777_217), []) };
    const tree = () => ({ n: zeros([]) as Tensor });
    const target = tree();
    const before = target.n;
    expect(problemsOf(() => loadTree(target, flat))).toEqual([
      { kind: "dtype", path: "n", expected: "float32", actual: "int32" },
    ]);
    expect(target.n).toBe(before);
    const kept = tree();
    loadTree(kept, flat, { dtype: "keep" });
    expect(kept.n).toBe(flat.n);
    const converted = tree();
    loadTree(converted, { n: tensor(Float64Array.of(0.1), []) }, { dtype: "cast" });
    expect(converted.n).toEqual(tensor(Float32Array.of(0.1), []));
    const live = tree();
    const memory = live.n.data;
    loadTree(live, { n: tensor(Float64Array.of(0.1), []) }, { dtype: "cast", assign: "copy" });
    expect(live.n.data).toBe(memory);
    expect(memory[0]).toBe(Math.fround(0.1));
  });

  test("what cannot be converted is a problem like any other, and says why", () => {
    const tree = { small: tensor(new Int8Array(2)), other: f32(1) };
    const flat = { small: f32(1, 300) };
    const problems = problemsOf(() => loadTree(tree, flat, { dtype: "cast" }));
    expect(problems).toMatchObject([
      { kind: "dtype", path: "small", expected: "int8", actual: expect.stringContaining("300") },
      { kind: "missing", path: "other" },
    ]);
  });
});

describe("problems", () => {
  const tree = () => ({
    a: f32(1),
    b: { w: tensor(new Float32Array(6), [2, 3]), n: i32(1) },
    c: f32(1),
  });
  const flat = () => ({
    extra: f32(1),
    "b.n": f32(1),
    "b.w": tensor(new Float32Array(6), [3, 2]),
    c: f32(1),
    more: i32(1, 2),
  });

  test("every one is listed, in the tree's order and then the file's", () => {
    const target = Object.freeze(tree());
    expectUnchanged(target, () => loadTree(target, flat()));
    expect(problemsOf(() => loadTree(target, flat()))).toEqual([
      { kind: "missing", path: "a", expected: { dtype: "float32", shape: [1] } },
      { kind: "shape", path: "b.w", expected: [2, 3], actual: [3, 2] },
      { kind: "dtype", path: "b.n", expected: "int32", actual: "float32" },
      { kind: "read-only", path: "c", expected: "writable", actual: "read-only" },
      { kind: "unexpected", path: "extra", actual: { dtype: "float32", shape: [1] } },
      { kind: "unexpected", path: "more", actual: { dtype: "int32", shape: [2] } },
    ]);
  });

  test("the message counts each kind, names the first of each and the option that accepts it", async () => {
    const error = await expectError(() => loadTree(Object.freeze(tree()), flat()), {
      code: "tree-mismatch",
    });
    expect(error.message).toBe(
      [
        "the file does not fit the tree, which is left as it was:",
        '- 1 missing key: "a" (mode: "partial" leaves the leaf as it is)',
        '- 1 size mismatch: "b.w" is (2, 3) in the tree, (3, 2) in the file (shape: "any" takes the file\'s shape)',
        '- 1 dtype mismatch: "b.n" is int32 in the tree, float32 in the file (dtype: "keep" takes the file\'s dtype, dtype: "cast" converts to the tree\'s)',
        '- 1 read-only key: "c" (assign: "copy" fills the memory of an equal shape and dtype)',
        '- 2 unexpected keys: "extra" and 1 more (mode: "partial" leaves the tensor out)',
      ].join("\n"),
    );
  });

  test("10,000 of them make a short message and are all in the details", async () => {
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`w${i}`, f32(1)]));
    const error = await expectError(() => loadTree(wide, {}), {
      code: "tree-mismatch",
      names: ["10000 missing keys", '"w0" and 9999 more'],
    });
    expect(error.details.problems).toHaveLength(10_000);
    expect(error.message.length).toBeLessThan(300);
    expect(error).toBeInstanceOf(TensorjarError);
  });

  test("what is unexpected need not be a tensor", () => {
    const given = { ...flat(), odd: undefined as never };
    expect(problemsOf(() => loadTree(tree(), given)).at(-1)).toEqual({
      kind: "unexpected",
      path: "odd",
      actual: {},
    });
  });

  test("partial forgives missing and unexpected, never shape or dtype", () => {
    expect(
      problemsOf(() => loadTree(tree(), flat(), { mode: "partial" })).map(({ kind }) => kind),
    ).toEqual(["shape", "dtype"]);
    const target = tree();
    const a = target.a;
    const report = loadTree(target, flat(), { mode: "partial", shape: "any", dtype: "keep" });
    expect(report).toEqual({
      loaded: ["b.w", "b.n", "c"],
      missing: ["a"],
      unexpected: ["extra", "more"],
    });
    expect(target.a).toBe(a);
  });

  test("a shape and a dtype that are both wrong are two problems", () => {
    expect(
      problemsOf(() => loadTree({ w: f32(1) }, { w: i32(1, 2) })).map(({ kind }) => kind),
    ).toEqual(["shape", "dtype"]);
  });

  test("non-writable properties, getters without setters and frozen nodes are read-only", () => {
    const fixed = Object.defineProperty({}, "w", { value: f32(1), enumerable: true });
    const getter = {
      get w() {
        return f32(1);
      },
    };
    const frozen = Object.freeze([f32(1)]);
    const target = { fixed, getter, frozen };
    const flat = { "fixed.w": f32(2), "getter.w": f32(2), "frozen.0": f32(2) };
    expect(problemsOf(() => loadTree(target, flat)).map(({ kind, path }) => [kind, path])).toEqual([
      ["read-only", "fixed.w"],
      ["read-only", "getter.w"],
      ["read-only", "frozen.0"],
    ]);
  });

  test("and so is what a proxy refuses to set, after which the rest is as it was", () => {
    const first = f32(1);
    const refusing = new Proxy({ w: f32(1) }, { set: () => false });
    const target = { first, refusing };
    const flat = { first: f32(2), "refusing.w": f32(2) };
    expect(problemsOf(() => loadTree(target, flat)).map(({ kind, path }) => [kind, path])).toEqual([
      ["read-only", "refusing.w"],
    ]);
    expect(target.first).toBe(first);
  });

  test("a type error of a setter is thrown on as it is", () => {
    const target = {
      get w() {
        return f32(1);
      },
      set w(_: Tensor) {
        throw new TypeError("the setter's own");
      },
    };
    expect(() => loadTree(target, { w: f32(2) })).toThrow(new TypeError("the setter's own"));
  });
});

describe("the order of the file", () => {
  const target = () => ({
    "a.b": f32(0),
    a: { c: f32(0), d: buffer(f32(0)) },
    list: [f32(0), f32(0)],
    last: f32(0),
  });
  const flat = [...flattenTree(target()).keys()].map((name, i) => [name, f32(i + 1)] as const);
  const orders = {
    "is the tree's": flat,
    "is another": [...flat].reverse(),
    "differs at its beginning": [...flat.slice(1), ...flat.slice(0, 1)],
    "has another tensor first": [["first", f32(9)] as const, ...flat],
    "has another tensor in between": [
      ...flat.slice(0, 3),
      ["more", f32(9)] as const,
      ...flat.slice(3),
    ],
    "lacks tensors": flat.filter((_, i) => i % 2 === 1),
  };
  for (const [order, entries] of Object.entries(orders)) {
    test(`changes nothing when it ${order}`, () => {
      const given = new Map(entries);
      for (const options of [
        {},
        { only: "trainable" },
        { ignore: (x: string) => x === "a.c" },
      ] as const) {
        const tree = target();
        const before = flattenTree(tree);
        const left = (path: string) =>
          ("only" in options && path === "a.d") || ("ignore" in options && path === "a.c");
        const report = loadTree(tree, given, { mode: "partial", ...options });
        const paths = flat.map(([path]) => path).filter((path) => !left(path));
        expect(report.loaded).toEqual(paths.filter((path) => given.has(path)));
        expect(report.missing).toEqual(paths.filter((path) => !given.has(path)));
        expect(report.unexpected).toEqual([...given.keys()].filter((name) => !before.has(name)));
        for (const [path, tensor] of flattenTree(tree)) {
          const loaded = report.loaded.includes(path) ? given : before;
          expect(bytesOf(tensor.data)).toEqual(bytesOf(loaded.get(path)?.data ?? new Uint8Array()));
        }
      }
    });

    test(`two leaves with one path are found when it ${order}`, async () => {
      const twice = { ...target(), a: { b: f32(0), c: f32(0), d: f32(0) } };
      for (const mode of ["strict", "partial"] as const) {
        await expectError(() => loadTree(twice, new Map(entries), { mode }), {
          code: "duplicate-name",
          names: ['"a\\.b"'],
        });
      }
    });
  }
});

describe("rename, ignore, prefix and only", () => {
  test("rename gives the path in the tree of a name in the file", () => {
    const target = { fc: { weight: f32(0) } };
    const rename = (name: string) => name.replace(/^module\./, "");
    loadTree(target, { "module.fc.weight": f32(1) }, { rename });
    expect(target.fc.weight.data[0]).toBe(1);
    const problems = problemsOf(() =>
      loadTree(target, { "module.fc.weight": f32(1), "module.x": f32(1) }, { rename }),
    );
    expect(problems).toEqual([
      { kind: "unexpected", path: "x", actual: { name: "module.x", dtype: "float32", shape: [1] } },
    ]);
  });

  test("two names renamed to one, and what is no name", async () => {
    const flat = { "a.x": f32(1), "b.x": f32(1) };
    await expectError(() => loadTree({ x: f32(0) }, flat, { rename: (name) => name.slice(2) }), {
      code: "duplicate-name",
      names: ['"a\\.x"', '"b\\.x"', '"x"'],
    });
    await expectError(() => loadTree({ x: f32(0) }, flat, { rename: () => undefined as never }), {
      code: "invalid-name",
    });
  });

  test("ignored paths are neither loaded nor missing nor unexpected", () => {
    const head = f32(9);
    const target = { body: f32(0), head, tail: f32(9) };
    const report = loadTree(
      target,
      { body: f32(1), head: i32(5, 5), "aux.w": f32(1) },
      { ignore: (path) => /^(head|tail|aux\..*)$/.test(path) },
    );
    expect(report).toEqual({ loaded: ["body"], missing: [], unexpected: [] });
    expect(target.head).toBe(head);
  });

  test('only: "trainable" passes over what training does not change', () => {
    const frozen = parameter(f32(5), { frozen: true });
    const target = { w: parameter(f32(0)), frozen, mean: buffer(f32(5)), plain: f32(0) };
    const report = loadTree(
      target,
      { w: f32(1), frozen: f32(1), plain: f32(1) },
      { only: "trainable" },
    );
    expect(report).toEqual({ loaded: ["w", "plain"], missing: [], unexpected: [] });
    expect(target.frozen).toBe(frozen);
    expect([...flattenTree(target, { only: "trainable" }).keys()]).toEqual(["w", "plain"]);
  });

  test("a prefix stands before every path of the tree", () => {
    const target = { w: f32(0) };
    loadTree(target, { "model.w": f32(1) }, { prefix: "model" });
    expect(target.w.data[0]).toBe(1);
    expect(
      problemsOf(() => loadTree(target, { w: f32(1) }, { prefix: "model" })).map(
        ({ path }) => path,
      ),
    ).toEqual(["model.w", "w"]);
  });
});

describe("what is refused", () => {
  test("bad tensors, by their name in the file, before anything is changed", async () => {
    const bad = { dtype: "float32", shape: [2], data: new Float32Array(1) } as Tensor;
    const target = { a: f32(1), b: f32(1, 1) };
    expectUnchanged(target, () => loadTree(target, { a: f32(2), b: bad }));
    await expectError(() => loadTree(target, { a: f32(2), b: bad }), {
      code: "invalid-shape",
      names: ['"b"'],
    });
    await expectError(() => loadTree(target, { a: f32(2), b: undefined as never }), {
      code: "invalid-argument",
      names: ['"b"'],
    });
  });

  test("no tensors by name, a name twice, and two leaves with one path", async () => {
    for (const flat of [undefined, null, "x", f32(1)]) {
      await expectError(() => loadTree({ a: f32(1) }, flat as never), { code: "invalid-argument" });
    }
    await expectError(
      () =>
        loadTree({ a: f32(1) }, [
          ["a", f32(1)],
          ["a", f32(2)],
        ]),
      { code: "duplicate-name" },
    );
    await expectError(() => loadTree({ "a.b": f32(1), a: { b: f32(1) } }, { "a.b": f32(1) }), {
      code: "duplicate-name",
      names: ['"a\\.b"'],
    });
  });

  test("numbers that would stay as they are", async () => {
    await expectError(() => loadTree({ step: 3, w: f32(1) }, { w: f32(2) }), {
      code: "invalid-argument",
      names: ['"step"'],
    });
    const target = { step: 3, w: f32(1) };
    loadTree(target, { w: f32(2) }, { statics: "skip" });
    expect(target).toEqual({ step: 3, w: f32(2) });
  });

  test("a leaf by isLeaf that is no tensor", async () => {
    const box = { w: f32(1) };
    await expectError(() => loadTree({ box }, { box: f32(1) }, { isLeaf: (x) => x === box }), {
      code: "invalid-argument",
      names: ['"box"', "adapter"],
    });
    const target = { w: f32(1) };
    loadTree(target, { w: f32(2) }, { isLeaf: (x) => x === target.w });
    expect(target.w.data[0]).toBe(2);
  });
});

describe("[treeNode]()", () => {
  test("live nodes and setters are written to, throw-away ones are read-only unless filled", () => {
    class Live {
      #params = new Map([["w", f32(0)]]);
      [treeNode]() {
        return this.#params;
      }
    }
    class WithSetter {
      w = f32(0);
      [treeNode]() {
        const self = this;
        return {
          get weight() {
            return self.w;
          },
          set weight(value) {
            self.w = value;
          },
        };
      }
    }
    class ThrownAway {
      w = f32(0);
      layers = [f32(0)];
      [treeNode]() {
        return { weight: this.w, layers: this.layers, inner: { weight: this.w } };
      }
    }
    const live = new Live();
    loadTree(live, { w: f32(1) });
    expect(flattenTree(live).get("w")).toEqual(f32(1));
    const setter = new WithSetter();
    loadTree(setter, { weight: f32(1) });
    expect(setter.w).toEqual(f32(1));
    const thrown = new ThrownAway();
    const flat = { weight: f32(1), "layers.0": f32(1), "inner.weight": f32(1) };
    expect(problemsOf(() => loadTree(thrown, flat)).map(({ kind, path }) => [kind, path])).toEqual([
      ["read-only", "weight"],
      ["read-only", "inner.weight"],
    ]);
    loadTree(thrown, flat, { assign: "copy" });
    expect(thrown).toMatchObject({ w: f32(1), layers: [f32(1)] });
  });
});

describe("adapters and undo", () => {
  class Box {
    values: Float32Array;
    constructor(...values: number[]) {
      this.values = Float32Array.from(values);
    }
  }
  const log: string[] = [];
  const boxes: LeafAdapter<Box> = {
    is: (x): x is Box => x instanceof Box,
    shape: (x) => [x.values.length],
    dtype: () => "float32",
    read: (x) => tensor(x.values),
    write(x, t) {
      const before = x.values;
      if (t.data[0] === 666) throw new Error("the device is full");
      x.values = Float32Array.from(t.data as Float32Array);
      log.push(`write ${x.values[0]}`);
      return {
        undo() {
          log.push(`undo ${x.values[0]}`);
          x.values = before;
        },
      };
    },
  };

  test("writes and replacements are both carried out", () => {
    const target = { box: new Box(0), w: f32(0) };
    const box = target.box;
    loadTree(target, { box: f32(1), w: f32(1) }, { adapters: [boxes] });
    expect(target.box).toBe(box);
    expect(box.values[0]).toBe(1);
    const replacing = {
      ...boxes,
      write: (_: Box, t: Tensor) => ({ replace: new Box(Number(t.data[0])) }),
    };
    loadTree(target, { box: f32(2), w: f32(1) }, { adapters: [replacing] });
    expect(target.box).not.toBe(box);
    expect(target.box.values[0]).toBe(2);
  });

  test("shapes and dtypes of what an adapter claims are compared", () => {
    const target = { box: new Box(0) };
    expect(
      problemsOf(() => loadTree(target, { box: i32(1, 2) }, { adapters: [boxes] })).map(
        ({ kind }) => kind,
      ),
    ).toEqual(["shape", "dtype"]);
  });

  test("a write that throws halfway undoes the earlier ones in reverse", () => {
    const target = {
      w: f32(0),
      x: new Float32Array(1),
      one: new Box(1),
      two: new Box(2),
      three: new Box(3),
    };
    const before = imprint({ w: target.w, x: target.x });
    const values = [target.one.values, target.two.values, target.three.values];
    log.length = 0;
    const flat = { w: f32(9), x: f32(9), one: f32(10), two: f32(20), three: f32(666) };
    expect(() => loadTree(target, flat, { adapters: [boxes] })).toThrow("the device is full");
    expect(log).toEqual(["write 10", "write 20", "undo 20", "undo 10"]);
    expect(
      [target.one.values, target.two.values, target.three.values].every((v, i) => v === values[i]),
    ).toBe(true);
    expect(imprint({ w: target.w, x: target.x })).toEqual(before);
  });

  test("a setter that throws undoes writes and swaps", () => {
    const w = f32(0);
    const box = new Box(1);
    const target = {
      w,
      box,
      get last() {
        return w;
      },
      set last(_: Tensor) {
        throw new Error("no");
      },
    };
    expect(() =>
      loadTree(target, { w: f32(1), box: f32(2), last: f32(3) }, { adapters: [boxes] }),
    ).toThrow("no");
    expect(target.w).toBe(w);
    expect(box.values[0]).toBe(1);
  });

  test("an undo that throws keeps neither the others nor the first error away", () => {
    const sticky = {
      ...boxes,
      is: (x: unknown): x is Box => x instanceof Box && x.values.length === 2,
      write: () => ({
        undo() {
          throw new Error("stuck");
        },
      }),
    };
    const target = { one: new Box(1), stuck: new Box(1, 1), three: new Box(3) };
    const flat = { one: f32(10), stuck: f32(2, 2), three: f32(666) };
    expect(() => loadTree(target, flat, { adapters: [sticky, boxes] })).toThrow(
      "the device is full",
    );
    expect(target.one.values[0]).toBe(1);
  });

  test("a replacement that cannot be put in place undoes everything", () => {
    const replacing: LeafAdapter<Box> = {
      ...boxes,
      is: (x): x is Box => x instanceof Box && x.values.length === 2,
      write: () => ({ replace: new Box(8, 8) }),
    };
    const target = Object.freeze({ one: new Box(1), two: new Box(2, 2) });
    const problems = problemsOf(() =>
      loadTree(target, { one: f32(9), two: f32(9, 9) }, { adapters: [replacing, boxes] }),
    );
    expect(problems.map(({ kind, path }) => [kind, path])).toEqual([["read-only", "two"]]);
    expect(target.one.values[0]).toBe(1);
  });
});

test("a composite of parameters and moments is loaded as one", () => {
  const params = { w: f32(1), b: f32(1) };
  const adam = { exp_avg: { w: f32(0), b: f32(0) }, exp_avg_sq: { w: f32(0), b: f32(0) } };
  const composite = { params, optimizers: { adam }, extra: {} };
  const flat = flattenTree({
    params: { w: f32(2), b: f32(2) },
    optimizers: { adam: { exp_avg: { w: f32(3), b: f32(3) }, exp_avg_sq: { w: f32(4) } } },
  });
  expectUnchanged(composite, () => loadTree(composite, flat, { assign: "copy" }));
  expect(
    problemsOf(() => loadTree(composite, flat, { assign: "copy" })).map(({ path }) => path),
  ).toEqual(["optimizers.adam.exp_avg_sq.b"]);
});

test("every dtype is loaded, bit by bit, by both assignments", () => {
  for (const dtype of everyDType) {
    const given = zeros([2, 4], dtype) as Tensor;
    bytesOf(given.data).forEach((_, i, bytes) => {
      bytes[i] = 255 - i;
    });
    for (const assign of ["copy", "replace"] as const) {
      const options: LoadOptions = { assign };
      const target = { w: zeros([2, 4], dtype) };
      loadTree(target, { w: given }, options);
      expect(target.w.dtype).toBe(dtype);
      expect(bytesOf(target.w.data)).toEqual(bytesOf(given.data));
    }
  }
});
