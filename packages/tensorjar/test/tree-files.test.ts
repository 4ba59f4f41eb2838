import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import {
  bytesSource,
  load,
  loadInto,
  type SaveOptions,
  save,
  type Tensor,
  tensor,
  zeros,
} from "../src/index.js";
import { plainDecimal } from "../src/tree-files.js";

async function saved(tree: unknown, options?: SaveOptions): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  await save(
    {
      write: (chunk) => {
        pieces.push(chunk.slice());
      },
      close: () => {},
    },
    tree,
    options,
  );
  return new Uint8Array(await new Blob(pieces.map((piece) => new Uint8Array(piece))).arrayBuffer());
}

const model = () => ({
  layers: [{ weight: tensor([1, 2], [2], "float32") }, { weight: tensor([3], [1], "float32") }],
});

describe("metadata of a saved tree", () => {
  const metadataOf = async (tree: unknown, options?: SaveOptions) =>
    Object.fromEntries((await load(await saved(tree, options))).metadata);

  test("names the form, and the root when it is given", async () => {
    expect(await metadataOf(model())).toEqual({ format: "tensorjar-tree" });
    expect(await metadataOf(model(), { root: "model" })).toEqual({
      format: "tensorjar-tree",
      root: "model",
    });
  });

  test("the user's own keys win", async () => {
    expect(await metadataOf(model(), { metadata: { format: "pt", step: "none" } })).toEqual({
      format: "pt",
      step: "none",
    });
  });

  test("a scalar step and learning rate stand there as text", async () => {
    const tree = {
      optimizer: { step: tensor(12, [], "int64"), learning_rate: tensor(1e-7, [], "float64") },
      step: tensor([1, 2], [2], "int32"),
      other: { step: tensor(99, [], "int32") },
    };
    expect(await metadataOf(tree)).toEqual({
      format: "tensorjar-tree",
      step: "12",
      learning_rate: "0.0000001",
    });
  });
});

test("a double is written as its shortest decimal without an exponent", () => {
  expect(
    [1, -0, 0, 0.1, 1e21, 1.5e-7, -2.25e300, Number.POSITIVE_INFINITY, Number.NaN].map(
      plainDecimal,
    ),
  ).toEqual([
    "1",
    "-0",
    "0",
    "0.1",
    "1000000000000000000000",
    "0.00000015",
    `-225${"0".repeat(298)}`,
    "inf",
    "NaN",
  ]);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = plainDecimal(value);
      expect(text).not.toMatch(/e/i);
      expect(Number(text)).toBe(value);
    }),
  );
});

test("what was saved loads back into the tree, in place of its arrays", async () => {
  const target = { layers: [{ weight: zeros([2]) }, { weight: zeros([1]) }] };
  const report = await loadInto(await saved(model()), target);
  expect(target).toEqual(model());
  expect(report).toEqual({
    loaded: ["layers.0.weight", "layers.1.weight"],
    missing: [],
    unexpected: [],
  });
});

test("a failed load lists every problem and leaves every array and reference as it was", async () => {
  const extra = tensor([9], [1], "int8");
  const bytes = await saved({
    layers: [{ weight: tensor([1, 2, 3], [3], "float32") }, { weight: tensor([1], [1], "int8") }],
    extra,
  });
  const target = { ...model(), bias: zeros([1]) };
  const before = structuredClone(target);
  const leaf = target.layers[0]?.weight;
  const error = await expectError(() => loadInto(bytes, target), {
    code: "tree-mismatch",
    names: ["bias", "extra"],
  });
  expect(error.details.problems?.map(({ kind, path }) => `${kind} ${path}`).sort()).toEqual([
    "dtype layers.1.weight",
    "missing bias",
    "shape layers.0.weight",
    "unexpected extra",
  ]);
  expect(target).toEqual(before);
  expect(target.layers[0]?.weight).toBe(leaf);
});

test("a truncated file changes nothing either", async () => {
  const bytes = await saved(model());
  const target = model();
  await expectError(() => loadInto(bytes.subarray(0, bytes.length - 1), target), {
    code: "truncated",
  });
  await expectError(() => loadInto(bytesSource(bytes.subarray(0, 3)), target), {
    code: "truncated",
  });
  expect(target).toEqual(model());
});

describe("containers that cannot hold a tree refuse it by name, before anything is written", () => {
  const cases: [string, unknown, SaveOptions, string, string][] = [
    [
      "metadata in .npz",
      model(),
      { format: "npz", metadata: { a: "b" } },
      "unsupported",
      "metadata",
    ],
    ["a root in .npy", { a: zeros([1]) }, { format: "npy", root: "x" }, "unsupported", "metadata"],
    ["two arrays in .npy", model(), { format: "npy" }, "unsupported", "2"],
    [
      "bfloat16 in .npz",
      { w: zeros([1], "bfloat16") },
      { format: "npz" },
      "unsupported",
      "bfloat16",
    ],
    ["a number", { step: 3 }, {}, "invalid-argument", "step"],
    ["the reserved name", { __metadata__: zeros([1]) }, {}, "invalid-name", "__metadata__"],
    [
      "two leaves with one path",
      { "a.b": zeros([1]), a: { b: zeros([1]) } },
      {},
      "duplicate-name",
      "a\\.b",
    ],
  ];
  test.each(cases)("%s", async (_, tree, options, code, words) => {
    let calls = 0;
    const sink = { write: () => void calls++, close: () => void calls++ };
    await expectError(() => save(sink, tree, options), { code, names: [words] });
    expect(calls).toBe(0);
  });
});

test("shared memory is refused unless aliases say what to do", async () => {
  const shared = tensor([1, 2], [2], "float32");
  const tied = { embed: shared, head: shared };
  await expectError(() => saved(tied), { names: ["embed", "head"] });
  const copied = (await load(await saved(tied, { aliases: "copy" }))).tensors;
  expect([...copied.keys()].sort()).toEqual(["embed", "head"]);
  const { metadata, tensors } = await load(await saved(tied, { aliases: "metadata" }));
  expect(tensors.size).toBe(1);
  expect(metadata.get("head")).toBe("embed");
});

describe("names that share memory, saved with aliases: metadata,", () => {
  const values = (...numbers: number[]): Tensor => tensor(numbers, [2], "float32");
  const shared = values(1, 2);
  const file = () =>
    saved({ embed: shared, head: shared, bias: values(5, 6) }, { aliases: "metadata" });

  test("are loaded into a tree that has them all, tied or not", async () => {
    const own = values(0, 0);
    const tied = { embed: own, head: own, bias: values(0, 0) };
    expect((await loadInto(await file(), tied, { assign: "copy" })).loaded).toEqual([
      "embed",
      "head",
      "bias",
    ]);
    expect(own).toEqual(shared);
    const loose = { embed: values(0, 0), head: values(3, 4), bias: values(0, 0) };
    await loadInto(await file(), loose);
    expect(loose.head).toBe(loose.embed);
    expect(loose.head).toEqual(shared);
    const renamed = { m: { embed: values(0, 0), head: values(0, 0), bias: values(0, 0) } };
    await loadInto(await file(), renamed, { rename: (name) => `m.${name}` });
    expect(renamed.m.head).toEqual(shared);
  });

  test("are no more than the tree has, and must fit it", async () => {
    await loadInto(await file(), { embed: values(0, 0), bias: values(0, 0) });
    const other = {
      embed: values(0, 0),
      head: tensor([0, 0, 0], [3], "float32"),
      bias: values(0, 0),
    };
    const error = await expectError(async () => loadInto(await file(), other), {
      code: "tree-mismatch",
      names: ["head"],
    });
    expect(error.details.problems).toHaveLength(1);
  });

  test("leave a path to the tensor or the first name that is renamed to it", async () => {
    for (const path of ["embed", "head"]) {
      const tree = { [path]: values(0, 0), bias: values(0, 0) };
      const rename = (name: string) => (name === "bias" ? name : path);
      expect((await loadInto(await file(), tree, { rename })).loaded).toEqual([path, "bias"]);
      expect(tree[path]).toEqual(shared);
    }
    const three = await saved({ a: shared, b: shared, c: shared }, { aliases: "metadata" });
    const tree = { a: values(0, 0), other: values(0, 0) };
    await loadInto(three, tree, { rename: (name) => (name === "a" ? name : "other") });
    expect(tree.other).toBe(tree.a);
  });

  test("are the tensor's also where the file has it again, unless it is another by now", async () => {
    const metadata = { head: "embed" };
    const twice = await saved({ embed: shared, head: values(1, 2) }, { metadata });
    const both = { embed: values(0, 0), head: values(0, 0) };
    await loadInto(twice, both);
    expect(both.head).toBe(both.embed);
    expect((await loadInto(twice, { embed: values(0, 0) })).unexpected).toEqual([]);
    const circle = { head: "embed", embed: "head" };
    const round = await saved({ embed: shared, head: values(1, 2) }, { metadata: circle });
    await loadInto(round, both);
    await expectError(() => loadInto(round, {}), { code: "tree-mismatch" });
    for (const head of [
      values(1, 3),
      tensor([1, 2], [1, 2], "float32"),
      tensor([1, 2], [2], "int32"),
    ]) {
      const changed = await saved({ embed: shared, head }, { metadata });
      const tree = { embed: values(0, 0), head: zeros(head.shape, head.dtype) };
      await loadInto(changed, tree);
      expect(tree).toEqual({ embed: shared, head });
      await expectError(() => loadInto(changed, { embed: values(0, 0) }), {
        code: "tree-mismatch",
        names: ["head"],
      });
    }
  });
});

test("a single array saves as .npy under the root", async () => {
  const root: Tensor = tensor([1, 2, 3], [3], "int16");
  const bytes = await saved(root, { format: "npy" });
  expect((await load(bytes)).tensors).toEqual(new Map([["", root]]));
});
