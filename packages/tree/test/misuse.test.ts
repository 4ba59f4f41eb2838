import { flattenTree, type LeafAdapter, loadTree, rebuildTree, tensor } from "@tensorjar/tree";
import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

test("an option that means nothing is refused by name, and nothing is loaded", async () => {
  for (const options of [
    { mode: "lax" },
    { dtype: "convert" },
    { shape: "free" },
    { assign: "move" },
    { order: "reverse" },
    { only: "frozen" },
    { statics: "drop" },
    { isLeaf: 5 },
    { ignore: 5 },
    { rename: 5 },
    { prefix: 5 },
    { adapters: 5 },
  ]) {
    const tree = { weight: tensor(new Float32Array(2)) };
    const { weight } = tree;
    await expectError(
      () => loadTree(tree, { weight: tensor([1, 2], [2], "float32") }, options as never),
      { code: "invalid-argument", names: Object.keys(options) },
    );
    expect(tree.weight).toBe(weight);
    expect([...weight.data]).toEqual([0, 0]);
  }
  expect(
    flattenTree({ weight: tensor(new Float32Array(2)) }, { statics: undefined } as never).size,
  ).toBe(1);
});

test("an adapter that does not say what it did is refused, and the writes before are taken back", async () => {
  class Device {
    data = Float32Array.of(0, 0);
  }
  const adapter = (outcome: unknown): LeafAdapter<Device> => ({
    is: (x): x is Device => x instanceof Device,
    shape: () => [2],
    dtype: () => "float32",
    read: (x) => tensor(x.data),
    write(x, { data }) {
      x.data.set(data as Float32Array);
      const undo = () => void x.data.fill(0);
      return (x === tree.b ? outcome : { undo }) as { undo(): void };
    },
  });
  const tree = { a: new Device(), b: new Device() };
  const ones = () => tensor([1, 1], [2], "float32");
  for (const outcome of [
    undefined,
    null,
    1,
    "done",
    {},
    { undo: 5 },
    Promise.resolve({ undo() {} }),
  ]) {
    await expectError(
      () => loadTree(tree, { a: ones(), b: ones() }, { adapters: [adapter(outcome)] }),
      { code: "invalid-argument", names: ['"b"', "write"] },
    );
    expect([...tree.a.data]).toEqual([0, 0]);
    await expectError(
      () => rebuildTree({ b: tree.b }, { b: ones() }, { adapters: [adapter(outcome)] }),
      { code: "invalid-argument", names: ['"b"', "write"] },
    );
  }
});
