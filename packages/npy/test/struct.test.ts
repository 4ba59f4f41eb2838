import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import {
  decodeNpy,
  encodeNpy,
  type NpyStruct,
  parseNpyHeader,
  type StructField,
  structField,
  tensor,
} from "../src/index.js";
import { npyFile } from "./npy-file.js";

function struct(
  descr: string,
  shape: string,
  data: Uint8Array | number,
  fortran = "False",
): NpyStruct {
  const text = `{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': ${shape}}`;
  const array = decodeNpy(npyFile(text, { data }));
  if (array.dtype !== "struct") throw new Error("not a struct");
  return array;
}

const bytes = (...values: number[]) => Uint8Array.from(values);

describe("fields", () => {
  test("have offsets, sizes, byte orders and sub-arrays; padding has no field", () => {
    const { itemSize, fields } = struct(
      "[('a', '|u1'), ('', '|V3'), (('the b', 'b'), '>f8', (2,)), ('s', '<U2'), ('t', '<M8[s]')]",
      "(0,)",
      0,
    );
    expect(itemSize).toBe(36);
    expect(fields).toEqual([
      { name: "a", offset: 0, dtype: "uint8", itemSize: 1, byteOrder: "none", shape: [] },
      {
        name: "b",
        title: "the b",
        offset: 4,
        dtype: "float64",
        itemSize: 8,
        byteOrder: "big",
        shape: [2],
      },
      { name: "s", offset: 20, dtype: "string", itemSize: 8, byteOrder: "little", shape: [] },
      {
        name: "t",
        offset: 28,
        dtype: "datetime64",
        itemSize: 8,
        byteOrder: "little",
        unit: "s",
        shape: [],
      },
    ]);
  });

  test("sub-arrays of sub-arrays have one shape, the outer first", () => {
    const { fields } = struct("[('a', (('<i2', (2,)), 3), (4, 5))]", "(0,)", 0);
    expect(fields).toMatchObject([{ shape: [4, 5, 3, 2], itemSize: 2 }]);
  });

  test("a sub-array without a name is padding, as in NumPy", () => {
    const { fields, itemSize } = struct("[('', '<f4', (2,)), ('', '<i2')]", "(0,)", 0);
    expect(itemSize).toBe(10);
    expect(fields).toMatchObject([{ name: "", dtype: "int16", offset: 8 }]);
  });

  test("are copied out, little-endian, with the sub-array's axes last", () => {
    const array = struct(
      "[('a', '>u2', (2,)), ('b', '|S1')]",
      "(2,)",
      bytes(0, 1, 0, 2, 65, 0, 3, 0, 4, 66),
    );
    expect(structField(array, "a")).toEqual(tensor(Uint16Array.of(1, 2, 3, 4), [2, 2]));
    expect(structField(array, "b")).toEqual({
      dtype: "bytes",
      shape: [2],
      data: bytes(65, 66),
      itemSize: 1,
    });
  });

  test("of a struct within a struct are read from that one", () => {
    const array = struct(
      "[('p', [('x', '|u1'), ('y', '>u2')], (2,))]",
      "()",
      bytes(1, 0, 2, 3, 0, 4),
    );
    const inner = structField(array, "p");
    if (inner.dtype !== "struct") throw new Error("not a struct");
    expect(inner.shape).toEqual([2]);
    expect(structField(inner, "y")).toEqual(tensor(Uint16Array.of(2, 4)));
  });

  test("of Fortran order come in C order, each struct as stored", () => {
    const data = bytes(1, 0, 2, 0, 3, 0, 4, 0);
    const array = struct("[('a', '<u2')]", "(2, 2)", data, "True");
    expect(structField(array, "a")).toEqual(tensor(Uint16Array.of(1, 3, 2, 4), [2, 2]));
  });

  test("that are not there are not found", async () => {
    const array = struct("[('a', '<u2')]", "()", 2);
    await expectError(() => structField(array, "b"), { code: "not-found", names: ['"b"'] });
    await expectError(() => structField({ ...array, data: bytes(1) }, "a"), {
      code: "invalid-shape",
    });
  });
});

describe("encoding", () => {
  const descrOf = (fields: readonly StructField[], itemSize: number) =>
    parseNpyHeader(encodeNpy({ dtype: "struct", shape: [0], data: bytes(), itemSize, fields }))
      .descr;

  test("writes the descr as NumPy does", () => {
    const descr =
      "[(('the a', 'a'), '|u1'), ('', '|V1'), ('it\"s', '>u2'), (\"it's\", '<f4', (2, 1)), ('p', [('\\\\', '<U3')]), ('', '|V2')]";
    const { fields, itemSize } = struct(descr, "(0,)", 0);
    expect(descrOf(fields, itemSize)).toBe(descr);
  });

  test.each([
    ["[('a', '|S0'), ('b', '|V3'), ('c', '<m8'), ('d', '>M8[25s]')]"],
    ["[]"],
    ["[('é', '<f4'), ('\\x7f\\xa0\\u2028', '<c8')]"],
    ["[('値', '<f4'), ('\\U000e0001', '<i8')]"],
  ])("%s comes back", (descr) => {
    const { fields, itemSize } = struct(descr.replace("値", "v"), "(0,)", 0);
    expect(descrOf(fields, itemSize)).toBe(descr.replace("値", "v"));
  });

  test("refuses a struct without fields", async () => {
    // @ts-expect-error a struct has fields
    await expectError(() => descrOf(undefined, 8), { code: "invalid-argument" });
  });

  const field = (given: Partial<StructField>): StructField => ({
    name: "a",
    offset: 0,
    dtype: "uint8",
    itemSize: 1,
    byteOrder: "none",
    shape: [],
    ...given,
  });

  const int32 = { dtype: "int32", itemSize: 4 } as const;
  const notText: unknown = 5;

  test.each([
    [
      "a field out of order",
      [field({ offset: 4 }), field({ name: "b" })],
      "invalid-offsets",
      /"b" starts at 0, .* ends at 5/,
    ],
    [
      "fields that overlap",
      [field(int32), field({ name: "b", offset: 2 })],
      "invalid-offsets",
      /"b" starts at 2, .* ends at 4/,
    ],
    ["a field past the end", [field({ offset: 9 })], "invalid-offsets", /take 10 bytes/],
    ["an offset that is none", [field({ offset: 0.5 })], "invalid-offsets", /starts at 0.5/],
    ["a name twice", [field({}), field({ offset: 1 })], "duplicate-name", /two fields named "a"/],
    [
      "a title that is a name",
      [field({}), field({ name: "b", title: "a", offset: 1 })],
      "duplicate-name",
      /two fields named "a"/,
    ],
    [
      "a name that is no text",
      [field({ name: notText as string })],
      "invalid-name",
      /name of field 5 is not a string/,
    ],
    [
      "a title that is no text",
      [field({ title: notText as string })],
      "invalid-name",
      /name of field "a" is not a string/,
    ],
    [
      "void without a name",
      [field({ name: "", dtype: "void" })],
      "invalid-name",
      /read as padding/,
    ],
    ["an unknown dtype", [field({ dtype: "float31" })], "invalid-dtype", /"float31" is not known/],
    [
      "a dtype without a name",
      [field({ dtype: "bfloat16", itemSize: 2 })],
      "unsupported",
      /bfloat16/,
    ],
    ["a wrong size", [field({ dtype: "int32", itemSize: 2 })], "invalid-dtype", /2/],
    [
      "a wrong unit",
      [field({ dtype: "datetime64", itemSize: 8, unit: "fortnight" })],
      "invalid-dtype",
      /fortnight/,
    ],
    ["a wrong sub-array", [field({ shape: [-1] })], "invalid-shape", /-1/],
  ] as const)("refuses %s", async (_, fields, code, says) => {
    await expectError(() => descrOf(fields, 8), { code, names: [says.source] });
  });

  test.each([0, 0.5, Number.NaN])("refuses an inner struct of %d bytes", async (itemSize) => {
    const inner = field({ dtype: "struct", itemSize, fields: [field({})] });
    await expectError(() => descrOf([inner], 8), {
      code: "invalid-offsets",
      names: ["take 1 bytes", String(itemSize)],
    });
  });
});
