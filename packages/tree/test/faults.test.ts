import { isTensorjarError, type Problem, type Tensor, tensor, zeros } from "@tensorjar/core";
import { dataConstructor } from "@tensorjar/core/codec";
import {
  flattenTree,
  type LeafAdapter,
  loadTree,
  rebuildTree,
  unflattenTree,
  visitTree,
} from "@tensorjar/tree";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesOf, everyDType, type Random, random } from "../../../tooling/testing.js";

class Device {
  values: Float32Array;
  constructor(values: Float32Array) {
    this.values = values;
  }
}

const device: LeafAdapter<Device> = {
  is: (x): x is Device => x instanceof Device,
  shape: (x) => [x.values.length],
  dtype: () => "float32",
  read: (x) => tensor(x.values),
  write(x, { data }) {
    const before = x.values.slice();
    x.values.set(data as Float32Array);
    return { undo: () => x.values.set(before) };
  },
};

/** 500 leaves: tensors, typed arrays and adapter leaves in objects, arrays, Maps and instances. */
function seededTree(rng: Random): { tree: Record<string, object>; flat: Map<string, Tensor> } {
  const leaf = (i: number) => {
    const values = Float32Array.from({ length: 4 }, () => rng.next());
    if (i % 10 === 8) return values;
    return i % 10 === 9 ? new Device(values) : tensor(values, [2, 2]);
  };
  const tree: Record<string, object> = {};
  for (let block = 0; block < 50; block++) {
    const leaves = Array.from({ length: 10 }, (_, i) => leaf(i));
    const named = leaves.map((x, i) => [`p${i}`, x] as const);
    tree[`block${block}`] =
      block % 3 === 0 ? leaves : block % 3 === 1 ? new Map(named) : Object.fromEntries(named);
  }
  const flat = new Map<string, Tensor>();
  for (const [path, { shape }] of flattenTree(tree, { adapters: [device] })) {
    flat.set(
      path,
      tensor(
        Float32Array.from({ length: 4 }, () => rng.next()),
        shape,
      ),
    );
  }
  return { tree, flat };
}

function imprint(tree: object): { references: unknown[]; bytes: string[] } {
  const references: unknown[] = [];
  const bytes: string[] = [];
  const note = (path: string, x: object) => references.push(path, x);
  visitTree(
    tree,
    {
      enter: note,
      leaf(path, leaf) {
        note(path, leaf as object);
        const read = flattenTree(leaf, { adapters: [device] }).get("");
        bytes.push(bytesOf((read as Tensor).data).join());
      },
    },
    { adapters: [device] },
  );
  return { references, bytes };
}

function expectUntouched(tree: object, fn: () => unknown): unknown {
  const before = imprint(tree);
  let thrown: unknown;
  try {
    fn();
  } catch (error) {
    thrown = error;
  }
  const after = imprint(tree);
  expect(after.bytes).toEqual(before.bytes);
  expect(after.references.length).toBe(before.references.length);
  expect(after.references.every((x, i) => x === before.references[i])).toBe(true);
  return thrown;
}

describe("a strict load with 40 seeded faults", () => {
  for (const seed of [1, 2, 3]) {
    test(`reports exactly those, in order, and changes nothing (seed ${seed})`, () => {
      const rng = random(seed);
      const { tree, flat } = seededTree(rng);
      const paths = [...flat.keys()];
      const chosen = new Set<string>();
      while (chosen.size < 32) chosen.add(rng.pick(paths));
      const faults = new Map<string, Problem["kind"]>();
      for (const [i, path] of [...chosen].entries()) {
        const [block = "", key = ""] = path.split(".");
        const parent = tree[block];
        const tensors = parent instanceof Map || /[89]$/.test(path);
        const kinds = ["missing", "shape", "dtype", "read-only"] as const;
        const kind = tensors && i % 4 === 3 ? "missing" : (kinds[i % 4] ?? "missing");
        faults.set(path, kind);
        const given = flat.get(path) as Tensor;
        if (kind === "missing") flat.delete(path);
        if (kind === "shape") flat.set(path, zeros([...given.shape, 2], "float32"));
        if (kind === "dtype") flat.set(path, zeros(given.shape, "bfloat16"));
        if (kind === "read-only") Object.defineProperty(parent, key, { writable: false });
      }
      const added = Array.from({ length: 8 }, (_, i) => `extra.${rng.below(1000)}.${i}`);
      for (const name of added) flat.set(name, zeros([1], "float32"));
      const expected = [
        ...paths.filter((path) => faults.has(path)).map((path) => [path, faults.get(path)]),
        ...added.map((name) => [name, "unexpected"]),
      ];
      expect(expected).toHaveLength(40);
      expect(new Set(expected.map(([, kind]) => kind)).size).toBe(5);
      for (let run = 0; run < 2; run++) {
        const error = expectUntouched(tree, () => loadTree(tree, flat, { adapters: [device] }));
        if (!isTensorjarError(error, "tree-mismatch")) throw error;
        expect(error.details.problems?.map(({ path, kind }) => [path, kind])).toEqual(expected);
        expect(error.message.split("\n")).toHaveLength(6);
      }
    });
  }

  test("and one whose adapter fails at any write leaves every bit and reference", () => {
    const { tree, flat } = seededTree(random(4));
    for (const failing of [0, 1, 24, 49]) {
      let writes = 0;
      const adapter: LeafAdapter<Device> = {
        ...device,
        write(x, t) {
          if (writes++ === failing) throw new Error(`write ${failing} failed`);
          return device.write(x, t);
        },
      };
      const thrown = expectUntouched(tree, () => loadTree(tree, flat, { adapters: [adapter] }));
      expect(thrown).toEqual(new Error(`write ${failing} failed`));
    }
    expect(loadTree(tree, flat, { adapters: [device] }).loaded).toHaveLength(500);
    expect(imprint(tree).bytes).toEqual([...flat.values()].map(({ data }) => bytesOf(data).join()));
  });
});

describe("round trips of random trees", () => {
  const leaf = fc
    .record({
      dtype: fc.constantFrom(...everyDType),
      shape: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }),
      seed: fc.integer(),
    })
    .map(({ dtype, shape, seed }) => {
      const data = new (dataConstructor(dtype))(0);
      const whole = [...shape, data.BYTES_PER_ELEMENT === 1 ? 8 : 1];
      const made = zeros(whole, dtype) as Tensor;
      bytesOf(made.data).set(random(seed).bytes(made.data.byteLength));
      return made;
    });
  const key = fc.oneof(
    fc.constantFrom("weight", "0", "1", "a.b", "__proto__", "constructor", "", " ", "é", "😀"),
    fc.string({ minLength: 1, maxLength: 3 }),
  );
  const { tree } = fc.letrec<{ tree: unknown; node: object }>((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, leaf, fc.constant(null), tie("node")),
    node: fc.oneof(
      { maxDepth: 4 },
      fc.array(tie("tree"), { maxLength: 3 }),
      fc
        .uniqueArray(fc.tuple(key, tie("tree")), { maxLength: 4, selector: ([k]) => k })
        .map((pairs) => new Map(pairs)),
      fc
        .uniqueArray(fc.tuple(key, tie("tree")), { maxLength: 4, selector: ([k]) => k })
        .map((pairs) => {
          const fields: Record<string, unknown> = Object.create(null);
          for (const [k, x] of pairs) fields[k] = x;
          return fields;
        }),
    ),
  }));
  const trees = fc.array(tree, { minLength: 2, maxLength: 5 }).map((x) => ({ r: x }));

  /** A tree may hold two leaves with one path; then no function takes it. */
  function flattened(x: unknown): Map<string, Tensor> | undefined {
    try {
      return flattenTree(x);
    } catch (error) {
      if (isTensorjarError(error, "duplicate-name")) return undefined;
      throw error;
    }
  }

  const imprintOf = (flat: Map<string, Tensor>) =>
    [...flat].map(([name, { dtype, shape, data }]) => [name, dtype, shape, bytesOf(data).join()]);

  test("flatten, rebuild and load keep every name, dtype, shape and bit", () => {
    let whole = 0;
    fc.assert(
      fc.property(trees, (x) => {
        const flat = flattened(x);
        if (flat === undefined) return;
        whole += flat.size;
        const blank = new Map(
          [...flat].map(([name, { dtype, shape }]) => [name, zeros(shape, dtype) as Tensor]),
        );
        const fresh = rebuildTree(x, blank);
        expect(imprintOf(flattenTree(fresh))).toEqual(imprintOf(blank));
        loadTree(fresh, new Map([...flat].reverse()), { assign: "copy" });
        expect(imprintOf(flattenTree(fresh))).toEqual(imprintOf(flat));
        loadTree(fresh, blank);
        expect([...flattenTree(fresh).values()].every((t, i) => t === [...blank.values()][i])).toBe(
          true,
        );
      }),
      { numRuns: 200 },
    );
    expect(whole).toBeGreaterThan(200);
  });

  test("what can be unflattened flattens to the same again", () => {
    fc.assert(
      fc.property(trees, (x) => {
        const flat = flattened(x);
        if (flat === undefined) return;
        let again: unknown;
        try {
          again = unflattenTree(flat);
        } catch (error) {
          expect(isTensorjarError(error, "path-conflict", "invalid-name")).toBe(true);
          return;
        }
        const sort = (pairs: unknown[][]) =>
          pairs.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
        expect(sort(imprintOf(flattenTree(again)))).toEqual(sort(imprintOf(flat)));
      }),
      { numRuns: 200 },
    );
  });
});
