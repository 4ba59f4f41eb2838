import { type Tensor, tensor } from "@tensorjar/core";
import { flattenTree, unflattenTree } from "@tensorjar/tree";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

const t = tensor(Float32Array.of(1));
const u = tensor(Float32Array.of(2));

describe("unflattenTree", () => {
  test("objects have no prototype, and tensors are the same", () => {
    const tree = unflattenTree({ "a.b": t }) as { a: { b: Tensor } };
    expect(Object.getPrototypeOf(tree)).toBe(null);
    expect(Object.getPrototypeOf(tree.a)).toBe(null);
    expect(tree.a.b).toBe(t);
  });

  test("a Map, pairs and a plain object are the same", () => {
    const expected = { x: [t, u] };
    const pairs: [string, Tensor][] = [
      ["x.1", u],
      ["x.0", t],
    ];
    for (const flat of [new Map(pairs), pairs, Object.fromEntries(pairs)]) {
      expect(unflattenTree(flat)).toEqual(expected);
    }
  });

  test("nothing gives an empty object, one leaf without a path the leaf", () => {
    expect(unflattenTree(new Map())).toEqual({});
    expect(unflattenTree([["", t]])).toBe(t);
  });

  test("hostile names touch no prototype", () => {
    const tree = unflattenTree([
      ["__proto__.polluted", t],
      ["constructor.prototype.x", u],
      ["a.__proto__", t],
    ]);
    expect(Reflect.get({}, "polluted")).toBe(undefined);
    expect(Object.keys(tree as object)).toEqual(["__proto__", "constructor", "a"]);
    expect([...flattenTree(tree).keys()]).toEqual([
      "__proto__.polluted",
      "constructor.prototype.x",
      "a.__proto__",
    ]);
  });

  test("a name twice", async () => {
    await expectError(
      () =>
        unflattenTree([
          ["a", t],
          ["a", u],
        ]),
      { code: "duplicate-name", names: ['"a"'] },
    );
  });

  test("a leaf and a subtree at one path, in either order", async () => {
    for (const names of [
      ["a.b", "a.b.c.d"],
      ["a.b.c.d", "a.b"],
      ["", "x"],
      ["x", ""],
    ]) {
      await expectError(() => unflattenTree(names.map((name) => [name, t] as const)), {
        code: "path-conflict",
        names: [names[0] === "" || names[1] === "" ? "root" : '"a\\.b"'],
      });
    }
  });

  test("paths of more than 1,000 segments, also of 100,000", async () => {
    const path = (segments: number) => Array(segments).fill("a").join(".");
    expect(flattenTree(unflattenTree([[path(1000), t]])).get(path(1000))).toBe(t);
    for (const segments of [1001, 100_000]) {
      await expectError(() => unflattenTree([[path(segments), t]]), { code: "limit-exceeded" });
      await expectError(() => unflattenTree([[".".repeat(segments), t]]), {
        code: "limit-exceeded",
      });
    }
  });

  test("no tensors by name", async () => {
    for (const flat of [undefined, null, "x", t]) {
      await expectError(() => unflattenTree(flat as never), { code: "invalid-argument" });
    }
  });

  test("what flattens from it has the same names and tensors", () => {
    const segment = fc.oneof(
      fc.constantFrom("0", "1", "2", "10", "01", "w", "__proto__", "", " 1", "-1"),
      fc.string({ maxLength: 3 }),
    );
    const path = fc
      .array(segment, { minLength: 1, maxLength: 4 })
      .map((segments) => ["r", ...segments].join("."));
    fc.assert(
      fc.property(fc.uniqueArray(path, { maxLength: 12 }), (paths) => {
        const free = paths.filter((p) => !paths.some((q) => q.startsWith(`${p}.`)));
        const wellFormed = free.filter((p) => !/\p{Surrogate}/u.test(p));
        const flat = new Map(wellFormed.map((p, i) => [p, tensor(Float64Array.of(i))]));
        const again = flattenTree(unflattenTree(flat));
        expect(new Map([...again].sort())).toEqual(new Map([...flat].sort()));
        for (const [name, leaf] of again) expect(leaf).toBe(flat.get(name));
      }),
    );
  });
});
