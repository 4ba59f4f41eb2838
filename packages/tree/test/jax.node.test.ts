import * as jax from "@jax-js/jax";
import { type Tensor, tensor } from "@tensorjar/core";
import { flattenTree, flattenTreeAsync, loadTree, rebuildTree } from "@tensorjar/tree";
import { jaxAdapter } from "@tensorjar/tree/jax";
import { beforeAll, describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

const { numpy: np } = jax;
const adapters = [jaxAdapter(jax)];
const half = Reflect.has(globalThis, "Float16Array");

beforeAll(async () => {
  await jax.init("wasm");
  jax.defaultDevice("wasm");
});

function bits(x: jax.Array): number[] {
  const values = x.ref.dataSync();
  return [...new Uint8Array(values.buffer, values.byteOffset, values.byteLength)];
}

describe("jaxAdapter", () => {
  test("reading consumes no reference, with data() and with dataSync()", async () => {
    const w = np.array([
      [1, 2],
      [3, 4],
    ]);
    const lazy = w.ref.add(1);
    const tree = { layers: [{ w, lazy }] };
    const flat = flattenTree(tree, { adapters });
    expect(flat.get("layers.0.w")).toEqual(tensor(Float32Array.of(1, 2, 3, 4), [2, 2]));
    expect(flat.get("layers.0.lazy")?.data).toEqual(Float32Array.of(2, 3, 4, 5));
    const later = await flattenTreeAsync(tree, { adapters: [jaxAdapter(jax, { async: true })] });
    expect(later).toEqual(flat);
    expect([w.refCount, lazy.refCount]).toEqual([1, 1]);
    expect(w.ref.add(lazy.ref).js()).toEqual([
      [3, 5],
      [7, 9],
    ]);
  });

  test("what is read is a copy", () => {
    const w = np.array([1, 2]);
    flattenTree(w, { adapters })
      .get("")
      ?.data.fill(9 as never);
    expect(w.ref.js()).toEqual([1, 2]);
  });

  test("leaves are replaced by new arrays, bit by bit, and the old ones keep their references", () => {
    const nan = new Float32Array(new Uint32Array([0x7fc00001, 0xff800001, 0x80000000]).buffer);
    const old = np.zeros([3]);
    const tree = {
      w: old,
      n: np.zeros([], { dtype: np.int32 }),
      on: np.zeros([2], { dtype: np.bool }),
      none: np.zeros([0, 3]),
    };
    const flat = {
      w: tensor(nan),
      n: tensor(Int32Array.of(-5), []),
      on: tensor(Uint8Array.of(1, 0), [2], "bool"),
      none: tensor(new Float32Array(0), [0, 3]),
    };
    loadTree(tree, flat, { adapters });
    expect(tree.w === old).toBe(false);
    expect([old.refCount, tree.w.refCount]).toEqual([1, 1]);
    expect(bits(tree.w)).toEqual([...new Uint8Array(nan.buffer)]);
    expect(flattenTree(tree, { adapters })).toEqual(new Map<string, Tensor>(Object.entries(flat)));
    expect(tree.w.device).toBe("wasm");
  });

  test.runIf(half)(
    "float16 and float64, which jax-js makes only where there is a Float16Array",
    () => {
      const flat = {
        h: tensor(Uint16Array.of(0x3c00, 0x7e01), [2], "float16"),
        d: tensor(Float64Array.of(0.1)),
      };
      const tree = {
        h: np.zeros([2], { dtype: np.float16 }),
        d: np.zeros([1], { dtype: np.float64 }),
      };
      loadTree(tree, flat, { adapters });
      expect(flattenTree(tree, { adapters })).toEqual(
        new Map<string, Tensor>(Object.entries(flat)),
      );
    },
  );

  test("a failing load leaves the arrays that were there", async () => {
    const tree = { a: np.zeros([1]), b: np.zeros([1]) };
    const { a, b } = tree;
    const flat = { a: tensor(Float32Array.of(1)), b: tensor(BigInt64Array.of(1n)) };
    await expectError(() => loadTree(tree, flat, { adapters }), {
      code: "tree-mismatch",
      names: ['"b" is float32 in the tree, int64'],
    });
    await expectError(() => loadTree(tree, flat, { adapters, dtype: "keep" }), {
      code: "unsupported",
      names: ["int64"],
    });
    expect([tree.a === a, tree.b === b]).toEqual([true, true]);
    loadTree(tree, flat, { adapters, dtype: "cast" });
    expect(tree.b.ref.js()).toEqual([1]);
  });

  test("rebuildTree gives a new tree for code that never changes its own", () => {
    const template = Object.freeze({ w: np.zeros([2]), act: "relu" });
    const tree = rebuildTree(template, { w: tensor(Float32Array.of(1, 2)) }, { adapters });
    expect(tree.w.ref.js()).toEqual([1, 2]);
    expect(tree.act).toBe("relu");
    expect(template.w.ref.js()).toEqual([0, 0]);
  });
});
