import { type Tensor, tensor, zeros } from "@tensorjar/core";
import {
  flattenTree,
  flattenTreeAsync,
  type LeafAdapter,
  treeNode,
  unflattenTree,
} from "@tensorjar/tree";
import { describe, expect, test } from "vitest";
import { expectError, random } from "../../../tooling/testing.js";

const a = tensor(Float32Array.of(1, 2));
const b = tensor(Int32Array.of(3));

function names(tree: unknown, options?: Parameters<typeof flattenTree>[1]): string[] {
  return [...flattenTree(tree, options).keys()];
}

describe("a tree that is walked again has the paths it has by now", () => {
  /** Of a tree that no walk has seen. */
  const fresh = (tree: object, options?: Parameters<typeof flattenTree>[1]) =>
    names(structuredClone(tree), options);

  test("after keys were added, taken away, renamed and put in another order", () => {
    const tree: { [key: string]: unknown } = { x: { v: a, w: b }, y: [a, { z: b }] };
    const changes = [
      () => Object.assign(tree, { last: a }),
      () => Object.assign(tree, { x: { w: b, v: a } }),
      () => Object.assign(tree, { x: new Map([["v", a]]) }),
      () => Object.assign(tree, { y: [{ z: b }, a] }),
      () => Object.assign(tree, { y: { 0: { z: b }, 1: { z: a } } }),
      () => Reflect.deleteProperty(tree, "x"),
      () => Object.assign(tree, { x: b }),
    ];
    expect(names(tree)).toEqual(["x.v", "x.w", "y.0", "y.1.z"]);
    for (const change of changes) {
      change();
      expect(names(tree)).toEqual(fresh(tree));
      expect(names(tree)).toEqual(fresh(tree));
    }
    expect(names(tree)).toEqual(["y.0.z", "y.1.z", "last", "x"]);
  });

  test("under another prefix, in another order, by itself and in two places of others", () => {
    const part = { w: { b: b, a: a }, v: a };
    const holders = [part, { part }, { other: part }, [part, { part }], new Map([["m", part]])];
    for (let round = 0; round < 2; round++) {
      for (const holder of holders) {
        for (const prefix of ["", "p", "p.q"]) {
          for (const order of ["insertion", "sorted"] as const)
            expect(names(holder, { prefix, order })).toEqual(fresh(holder, { prefix, order }));
        }
      }
    }
  });

  test("whatever happens to it between and during walks", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const { below: pick } = random(seed);
      const grow = (depth: number): object => {
        if (depth === 0 || pick(3) === 0) return { ...a };
        const parts = Array.from({ length: 1 + pick(3) }, () => grow(depth - 1));
        if (pick(2) === 0) return parts;
        return Object.fromEntries(parts.map((part) => ["abc.d".charAt(pick(5)), part]));
      };
      const tree: unknown[] = [grow(3), grow(3)];
      const isLeaf = () => {
        if (pick(8) === 0) names(tree);
        return false;
      };
      for (let round = 0; round < 8; round++) {
        const at = pick(tree.length + 1);
        const held = tree[pick(tree.length)];
        if (pick(3) === 0 && Array.isArray(held)) held.unshift(grow(2));
        else if (pick(3) === 0) tree.unshift(held);
        else tree[at] = grow(3);
        expect(names(tree, { isLeaf })).toEqual(fresh(tree));
      }
    }
  });
});

describe("leaves and paths", () => {
  test("keys and indices are joined by dots, and tensors are the same objects", () => {
    const flat = flattenTree({ layers: [{ weight: a }, { weight: b }], bias: a });
    expect([...flat.keys()]).toEqual(["layers.0.weight", "layers.1.weight", "bias"]);
    expect(flat.get("layers.1.weight")).toBe(b);
  });

  test("a tree that is one leaf has the empty path, or the prefix", () => {
    expect([...flattenTree(a)]).toEqual([["", a]]);
    expect([...flattenTree(a, { prefix: "model" })]).toEqual([["model", a]]);
    expect(names({ x: { y: a } }, { prefix: "model" })).toEqual(["model.x.y"]);
  });

  test("typed arrays are tensors on the same memory, of every class", () => {
    const array = Float32Array.of(1, 2, 3);
    expect(flattenTree({ array }).get("array")?.data).toBe(array);
    const dtypes = [
      [new Int8Array(2), "int8"],
      [new Uint8Array(2), "uint8"],
      [new Uint8ClampedArray(2), "uint8"],
      [new Int16Array(2), "int16"],
      [new Uint16Array(2), "uint16"],
      [new Int32Array(2), "int32"],
      [new Uint32Array(2), "uint32"],
      [new BigInt64Array(2), "int64"],
      [new BigUint64Array(2), "uint64"],
      [new Float32Array(2), "float32"],
      [new Float64Array(2), "float64"],
    ] as const;
    for (const [data, dtype] of dtypes) {
      const leaf = flattenTree([data]).get("0");
      expect(leaf).toMatchObject({ dtype, shape: [2] });
      expect(leaf?.data.buffer).toBe(data.buffer);
    }
    const clamped = flattenTree(new Uint8ClampedArray([7])).get("");
    expect(clamped?.data.constructor).toBe(Uint8Array);
  });

  test("a Float16Array is float16 bits on the same memory, where the runtime has one", () => {
    const Half = Reflect.get(globalThis, "Float16Array");
    const data = Half === undefined ? undefined : Half.of(1, -2);
    const leaf = data === undefined ? undefined : flattenTree([data]).get("0");
    expect(leaf?.dtype).toBe(data && "float16");
    expect(leaf?.data).toEqual(data && Uint16Array.of(0x3c00, 0xc000));
    expect(leaf?.data.buffer).toBe(data?.buffer);
  });

  test("Maps, class instances, objects without prototype and holes in arrays are walked", () => {
    class Layer {
      weight = a;
      name = "dense";
      units = 3;
      #hidden = b;
      get computed() {
        return this.#hidden;
      }
    }
    const sparse: unknown[] = [];
    sparse[3] = b;
    sparse.length = 2 ** 32 - 1;
    expect(names(new Map([["m.n", new Layer()]]))).toEqual(["m.n.weight"]);
    expect(names({ sparse })).toEqual(["sparse.3"]);
    expect(names(Object.assign(Object.create(null), { __proto__x: a }))).toEqual(["__proto__x"]);
    expect(names(Object.assign([a], { extra: b }))).toEqual(["0", "extra"]);
  });

  test("__proto__, constructor and numeric keys are ordinary names", () => {
    const tree = JSON.parse('{"__proto__": {"x": 0}, "constructor": {"prototype": 0}, "10": 0}');
    const leaf = (x: unknown) => x === 0;
    expect(names(tree, { isLeaf: leaf })).toEqual(["10", "__proto__.x", "constructor.prototype"]);
  });

  test("null, undefined, strings, functions and symbols are static", () => {
    const tree = { a, n: null, u: undefined, s: "relu", f: () => 0, y: Symbol("x"), l: [null] };
    expect(names(tree)).toEqual(["a"]);
  });

  test("one object at two paths is two leaves", () => {
    const shared = { w: a };
    expect(names({ left: shared, right: shared })).toEqual(["left.w", "right.w"]);
  });

  test("a node whose fields happen to be called dtype, shape and data is walked", () => {
    class Module {
      dtype = "float32";
      shape = undefined;
      data = { w: a };
    }
    expect(names(new Module())).toEqual(["data.w"]);
  });

  test("isLeaf stops the walk and passes anything through", () => {
    const box = { w: a };
    const flat = flattenTree({ box, none: null }, { isLeaf: (x) => x === box || x === null });
    expect([...flat]).toEqual([
      ["box", box],
      ["none", null],
    ]);
    const truthy = (x: unknown) => (x === box ? "yes" : undefined) as never;
    expect([...flattenTree({ box }, { isLeaf: truthy })]).toEqual([["box", box]]);
  });

  test('order "sorted" is by code point, whatever the order of insertion', () => {
    const keys = ["b", "a.x", "a-b", "\u{1F600}", "\uFF5E", "a", "Z", "\u{1F600}a"];
    const tree = Object.fromEntries(keys.map((key) => [key, key === "a" ? { y: a } : a]));
    const sorted = ["Z", "a-b", "a.x", "a.y", "b", "\uFF5E", "\u{1F600}", "\u{1F600}a"];
    expect(names(tree, { order: "sorted" })).toEqual(sorted);
    expect(names(tree)).toEqual([
      "b",
      "a.x",
      "a-b",
      "\u{1F600}",
      "\uFF5E",
      "a.y",
      "Z",
      "\u{1F600}a",
    ]);
  });
});

describe("what is refused", () => {
  test("numbers, bigints and booleans of plain nodes, with the path and the fix", async () => {
    const fix = { code: "invalid-argument" };
    await expectError(() => flattenTree({ opt: { step: 3 } }), {
      ...fix,
      names: ['"opt\\.step"', 'tensor\\(3, \\[\\], "int64"\\)', 'statics: "skip"'],
    });
    await expectError(() => flattenTree([a, 2n]), { ...fix, names: ['"1"', "2n"] });
    await expectError(() => flattenTree(new Map([["on", true]])), {
      ...fix,
      names: ['"on"', '"bool"'],
    });
    await expectError(() => flattenTree({ lr: 0.1 }), { ...fix, names: ['"lr"', '"float64"'] });
    expect(names({ step: 3, on: [true, 2n], a }, { statics: "skip" })).toEqual(["a"]);
  });

  test("a root that is no tree", async () => {
    for (const root of [undefined, null, 5, "w", () => a]) {
      await expectError(() => flattenTree(root), { code: "invalid-argument", names: ["the root"] });
    }
  });

  test("built-ins that hide what they hold", async () => {
    const builtIns = [
      new Set([a]),
      new WeakMap(),
      new Date(0),
      /x/,
      Promise.resolve(a),
      new ArrayBuffer(4),
      new DataView(new ArrayBuffer(4)),
      new Error("x"),
      new URL("http://x"),
      new Blob([]),
      new Map([["a", a]]).values(),
      Object(3),
      // As those of another realm, whose prototypes are not ours.
      ...[3, "w", true].map((x) => Object.setPrototypeOf(Object(x), {})),
      new Intl.NumberFormat("en"),
      new WebAssembly.Memory({ initial: 0 }),
    ];
    for (const x of builtIns) {
      await expectError(() => flattenTree({ m: { x } }), {
        code: "invalid-argument",
        names: ['"m\\.x"'],
      });
    }
  });

  test("a class that extends a built-in without state of its own is a node", () => {
    class Model extends EventTarget {
      weight = a;
    }
    class Named {
      weight = a;
      get [Symbol.toStringTag]() {
        return "Named";
      }
    }
    expect(names({ m: new Model(), n: new Named() })).toEqual(["m.weight", "n.weight"]);
  });

  test("what says it is a tensor and is not a right one, named by its path", async () => {
    const bad = [
      [{ dtype: "float32", shape: [3], data: new Float32Array(2) }, "invalid-shape"],
      [{ dtype: "float32", shape: [2], data: new Float64Array(2) }, "invalid-argument"],
      [{ dtype: "float32", shape: [2], data: [1, 2] }, "invalid-argument"],
      [{ dtype: "float99", shape: [2], data: new Float32Array(2) }, "invalid-dtype"],
      [{ dtype: "string", shape: [1], data: ["x"], itemLength: 1 }, "invalid-dtype"],
      [{ dtype: "float32", shape: [-1], data: new Float32Array(1) }, "invalid-shape"],
      [
        { dtype: "float32", shape: [2 ** 40, 2 ** 40, 0], data: new Float32Array(0) },
        "invalid-shape",
      ],
      [{ dtype: "float32", shape: "2", data: new Float32Array(2) }, "invalid-shape"],
      [{ dtype: "float4_e2m1fn", shape: [3], data: new Uint8Array(2) }, "invalid-shape"],
    ] as const;
    for (const [w, code] of bad) {
      await expectError(() => flattenTree({ m: { w } }, { statics: "skip" }), {
        code,
        names: ["m\\.w"],
      });
    }
  });

  test("another library's array without its adapter", async () => {
    class Foreign {
      readonly dtype = "float32";
      readonly shape = [2];
      data() {
        return [1, 2];
      }
    }
    const tree = { w: new Foreign() };
    await expectError(() => flattenTree(tree, { statics: "skip" }), {
      code: "invalid-argument",
      names: ['"w"', "adapter"],
    });
  });

  test("a strided view that is not in C order, of any library", async () => {
    const data = Float32Array.from({ length: 6 }, (_, i) => i);
    const view = (shape: number[], stride: number[], offset = 0) => ({
      dtype: "float32",
      shape,
      data,
      stride,
      offset,
    });
    expect(names({ w: view([2, 3], [3, 1]), one: view([1, 6], [99, 1]) })).toEqual(["w", "one"]);
    for (const w of [view([3, 2], [1, 3]), view([6], [-1], 5), view([6], [1], 1)]) {
      await expectError(() => flattenTree({ w }), {
        code: "invalid-argument",
        names: ['"w"', "C order"],
      });
    }
  });

  test("two leaves with one path", async () => {
    const wanted = { code: "duplicate-name", names: ['"a\\.b"'] };
    await expectError(() => flattenTree({ "a.b": a, a: { b } }), wanted);
    await expectError(() => flattenTree({ a: { b }, "a.b": a }), wanted);
    expect(names({ weight: a, "weight.absmax": b })).toEqual(["weight", "weight.absmax"]);
  });

  test("an empty key at the root, and Map keys that are no strings", async () => {
    await expectError(() => flattenTree({ "": a }), { code: "invalid-name" });
    expect(names({ a: { "": b } })).toEqual(["a."]);
    await expectError(() => flattenTree({ m: new Map([[0, a]]) }), {
      code: "invalid-name",
      names: ['"m"', "string"],
    });
  });

  test("cycles, naming both ends", async () => {
    const loop: Record<string, unknown> = { a };
    loop["self"] = { back: loop };
    await expectError(() => flattenTree({ x: loop }), {
      code: "path-conflict",
      names: ['"x\\.self\\.back"', '"x"'],
    });
    const list: unknown[] = [];
    list.push(list);
    await expectError(() => flattenTree(list), { code: "path-conflict" });
  });

  test("more than 1,000 levels, also of 100,000", async () => {
    const nest = (levels: number) => {
      let tree: unknown = a;
      for (let i = 0; i < levels; i++) tree = i % 2 ? [tree] : { k: tree };
      return tree;
    };
    expect(flattenTree(nest(1000)).size).toBe(1);
    for (const levels of [1001, 100_000]) {
      await expectError(() => flattenTree(nest(levels)), {
        code: "limit-exceeded",
        names: ["1000"],
      });
    }
  });
});

describe("[treeNode]()", () => {
  test("what it returns is walked instead of the fields", () => {
    class Layer {
      cache = a;
      #w = b;
      [treeNode]() {
        return { w: this.#w };
      }
    }
    expect([...flattenTree({ l: new Layer() })]).toEqual([["l.w", b]]);
    expect(Symbol.keyFor(treeNode)).toBe("tensorjar.treeNode");
  });

  test("it must return a node, and its cycles are found", async () => {
    const bad = { [treeNode]: () => 5 };
    await expectError(() => flattenTree({ bad }), { code: "invalid-argument", names: ['"bad"'] });
    const loop: object = { [treeNode]: () => ({ again: loop }) };
    await expectError(() => flattenTree(loop), { code: "path-conflict" });
    const endless = (): object => ({ [treeNode]: () => ({ next: endless() }) });
    await expectError(() => flattenTree(endless()), { code: "limit-exceeded" });
  });
});

describe("adapters", () => {
  class Box {
    readonly values: Float32Array;
    constructor(values: Float32Array) {
      this.values = values;
    }
  }
  const base = {
    is: (x: unknown) => x instanceof Box,
    shape: (x: Box) => [x.values.length],
    dtype: () => "float32",
    write: () => ({ undo() {} }),
  } as const;
  const sync = { ...base, read: (x: Box) => tensor(x.values) } as LeafAdapter<Box>;
  const later = { ...base, read: async (x: Box) => tensor(x.values) } as LeafAdapter<Box>;

  test("the first that claims a value reads it", () => {
    const flat = flattenTree({ box: new Box(Float32Array.of(4)), a }, { adapters: [sync] });
    expect([...flat.keys()]).toEqual(["box", "a"]);
    expect(flat.get("box")?.data).toEqual(Float32Array.of(4));
  });

  test("one that reads asynchronously needs flattenTreeAsync, which keeps the order", async () => {
    const tree = { box: new Box(Float32Array.of(4)), a };
    await expectError(() => flattenTree(tree, { adapters: [later] }), {
      code: "invalid-argument",
      names: ['"box"', "flattenTreeAsync"],
    });
    const flat = await flattenTreeAsync(tree, { adapters: [later], order: "insertion" });
    expect([...flat.keys()]).toEqual(["box", "a"]);
    expect(flat.get("a")).toBe(a);
  });

  test("what is read is checked", async () => {
    const wrong = {
      ...base,
      read: () => ({ dtype: "float32", shape: [9], data: new Float32Array(1) }),
    } as LeafAdapter<Box>;
    const tree = { box: new Box(new Float32Array(1)) };
    await expectError(() => flattenTree(tree, { adapters: [wrong] }), {
      code: "invalid-shape",
      names: ["box"],
    });
    await expectError(() => flattenTreeAsync(tree, { adapters: [wrong] }), {
      code: "invalid-shape",
      names: ["box"],
    });
  });
});

test("100,000 leaves keep their names and order", () => {
  const rng = random(1);
  const tree = Array.from({ length: 100 }, () =>
    Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`p${i}`, zeros([rng.below(2)])])),
  );
  const flat = flattenTree(tree);
  expect(flat.size).toBe(100_000);
  expect([...flat.keys()][99_999]).toBe("99.p999");
  expect((unflattenTree(flat) as Tensor[][])[99]).toHaveProperty("p999", flat.get("99.p999"));
});

test("nodes of any number of keys, in either order", () => {
  for (const length of [1, 31, 32, 33, 34, 200]) {
    const keys = Array.from({ length }, (_, i) => `k${(7 * i) % length}.${i}`);
    const node = Object.fromEntries(keys.map((key, i) => [key, zeros([i + 1])]));
    for (const [order, wanted] of [
      ["insertion", keys],
      ["sorted", [...keys].sort()],
    ] as const) {
      const flat = flattenTree({ node, map: new Map(Object.entries(node)) }, { order });
      expect([...flat].filter(([name]) => name.startsWith("node"))).toEqual(
        wanted.map((key) => [`node.${key}`, node[key]]),
      );
      expect([...flat].filter(([name]) => name.startsWith("map"))).toEqual(
        wanted.map((key) => [`map.${key}`, node[key]]),
      );
    }
  }
});

test("a getter that takes a later key away does not move the values under others", () => {
  const node = {
    get first() {
      Reflect.deleteProperty(this, "second");
      return a;
    },
    second: b,
    third: b,
  };
  expect([...flattenTree(node)]).toEqual([
    ["first", a],
    ["third", b],
  ]);
});

test("memory that was transferred is told", async () => {
  const weight = new Float32Array(3);
  structuredClone(weight.buffer, { transfer: [weight.buffer] });
  await expectError(() => flattenTree({ layer: { weight } }), {
    code: "invalid-argument",
    names: ["detached"],
  });
});

test("options called as what every object has are options unknown", () => {
  const options = Object.fromEntries(["__proto__", "constructor", "toString"].map((k) => [k, 1]));
  expect([...flattenTree({ w: zeros([1]) }, options).keys()]).toEqual(["w"]);
});
