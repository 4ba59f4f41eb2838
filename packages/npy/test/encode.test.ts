import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { decodeNpy, encodeNpy, type NpyArray, parseNpyHeader, tensor } from "../src/index.js";

const latin1 = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

describe("bytes of np.save", () => {
  test("a vector", () => {
    const file = encodeNpy(tensor(Float32Array.of(1, 2, 3)));
    const text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    expect(latin1(file.subarray(0, 128))).toBe(`\x93NUMPY\x01\0\x76\0${text.padEnd(117)}\n`);
    expect(file.length).toBe(140);
  });

  test.each([
    [[], "()"],
    [[0], "(0,)"],
    [[2, 3], "(2, 3)"],
    [[9007199254740991, 0], "(9007199254740991, 0)"],
  ])("shape %j", (shape, text) => {
    const file = encodeNpy(tensor(new Int8Array(shape.reduce((a, b) => a * b, 1)), shape));
    expect(latin1(file.subarray(0, 128))).toContain(`'shape': ${text}, }`);
    expect(parseNpyHeader(file)).toMatchObject({ version: [1, 0], descr: "|i1", dataOffset: 128 });
  });

  test("room for the first axis to grow, or none", () => {
    const shape = new Array(18).fill(1);
    const array = tensor(Float32Array.of(1), shape);
    expect(parseNpyHeader(encodeNpy(array)).dataOffset).toBe(192);
    expect(parseNpyHeader(encodeNpy(array, { growthPadding: false })).dataOffset).toBe(128);
  });

  test("a whole 64 bytes more where the header would fit already", () => {
    const name = "n".repeat(31);
    const field = {
      name,
      offset: 0,
      dtype: "uint8",
      itemSize: 1,
      byteOrder: "none",
      shape: [],
    } as const;
    const array: NpyArray = {
      dtype: "struct",
      shape: [],
      data: Uint8Array.of(1),
      itemSize: 1,
      fields: [field],
    };
    const offsets = Array.from({ length: 64 }, (_, more) => {
      const fields = [{ ...field, name: name + "n".repeat(more) }];
      return parseNpyHeader(encodeNpy({ ...array, fields })).dataOffset;
    });
    expect(new Set(offsets)).toEqual(new Set([128, 192]));
    for (const [more, offset] of offsets.entries()) {
      const text = `{'descr': [('${name + "n".repeat(more)}', '|u1')], 'fortran_order': False, 'shape': (), }`;
      expect(offset, `${more}`).toBe(Math.floor((10 + text.length + 1) / 64) * 64 + 64);
    }
  });

  test("the lowest version that can hold the header", async () => {
    const fields = (count: number, letter: string) =>
      Array.from({ length: count }, (_, at) => ({
        name: `${letter}${at}`,
        offset: at,
        dtype: "uint8",
        itemSize: 1,
        byteOrder: "none" as const,
        shape: [],
      }));
    const array = (count: number, letter: string): NpyArray => ({
      dtype: "struct",
      shape: [0],
      data: new Uint8Array(),
      itemSize: count,
      fields: fields(count, letter),
    });
    const options = { maxHeaderLength: 1_000_000 };
    const versionOf = (given: NpyArray) => parseNpyHeader(encodeNpy(given), options).version[0];
    expect(versionOf(array(3, "é"))).toBe(1);
    expect(versionOf(array(4000, "é"))).toBe(2);
    expect(versionOf(array(3, "値"))).toBe(3);
    await expectError(() => encodeNpy(array(4000, "a"), { version: 1 }), {
      code: "invalid-argument",
      names: ["version 1"],
    });
    await expectError(() => encodeNpy(array(3, "値"), { version: 2 }), {
      code: "invalid-argument",
    });
  });

  test("a part of a larger buffer writes its own bytes only", () => {
    const data = Float64Array.of(1, 2, 3, 4).subarray(1, 3);
    expect(decodeNpy(encodeNpy(tensor(data)))).toEqual(tensor(Float64Array.of(2, 3)));
  });

  test("bfloat16 and float8 are written as void where that is asked for", async () => {
    const bits = tensor(Uint16Array.of(0x3f80), [1], "bfloat16");
    await expectError(() => encodeNpy(bits), {
      code: "unsupported",
      names: ["bfloat16", "asVoid"],
    });
    const file = encodeNpy(bits, { asVoid: true });
    expect(parseNpyHeader(file).descr).toBe("<V2");
    expect(decodeNpy(file, { voidAs: "bfloat16" })).toEqual(bits);
    const float8 = tensor(Uint8Array.of(1), [1], "float8_e5m2");
    expect(parseNpyHeader(encodeNpy(float8, { asVoid: true })).descr).toBe("<V1");
    const float4 = tensor(Uint8Array.of(1), [2], "float4_e2m1fn");
    await expectError(() => encodeNpy(float4, { asVoid: true }), { code: "unsupported" });
  });
});

describe("what cannot be written", () => {
  const text = (data: unknown[], itemLength: number, shape = [data.length]) =>
    ({ dtype: "string", shape, data, itemLength }) as NpyArray; // not all of it is one
  const raw = (given: object) => given as NpyArray; // nor of these

  test.each([
    ["no array", raw([1, 2]), "invalid-argument"],
    ["undefined", undefined as unknown as NpyArray, "invalid-argument"],
    [
      "an unknown dtype",
      raw({ dtype: "float31", shape: [], data: new Uint8Array(1) }),
      "invalid-dtype",
    ],
    [
      "data of another length",
      raw({ dtype: "int8", shape: [3], data: new Int8Array(2) }),
      "invalid-shape",
    ],
    [
      "data of another class",
      raw({ dtype: "int8", shape: [2], data: new Uint8Array(2) }),
      "invalid-argument",
    ],
    ["over 64 axes", tensor(Int8Array.of(1), new Array(65).fill(1)), "invalid-shape"],
    [
      "a shape that is none",
      raw({ dtype: "bytes", shape: 3, data: new Uint8Array(3), itemSize: 1 }),
      "invalid-shape",
    ],
    [
      "a negative axis",
      raw({ dtype: "bytes", shape: [-1], data: new Uint8Array(3), itemSize: 1 }),
      "invalid-shape",
    ],
    [
      "bytes of another length",
      raw({ dtype: "bytes", shape: [2], data: new Uint8Array(3), itemSize: 2 }),
      "invalid-shape",
    ],
    [
      "bytes that are none",
      raw({ dtype: "void", shape: [2], data: [1, 2], itemSize: 1 }),
      "invalid-argument",
    ],
    [
      "a size that is none",
      raw({ dtype: "void", shape: [0], data: new Uint8Array(), itemSize: 1.5 }),
      "invalid-dtype",
    ],
    [
      "times in floats",
      raw({ dtype: "datetime64", shape: [1], data: new Float64Array(1), unit: "s" }),
      "invalid-argument",
    ],
    [
      "an unknown unit",
      { dtype: "datetime64", shape: [0], data: new BigInt64Array(), unit: "B" },
      "invalid-dtype",
    ],
    [
      "a unit with a factor of 1",
      { dtype: "datetime64", shape: [0], data: new BigInt64Array(), unit: "1s" },
      "invalid-dtype",
    ],
    ["too long a string", text(["😀😀😀"], 2), "invalid-argument"],
    ["a string that ends with NUL", text(["a\0"], 2), "invalid-argument"],
    ["numbers among strings", text(["a", 1], 2), "invalid-argument"],
    ["too few strings", text(["a"], 1, [2]), "invalid-shape"],
    ["strings of no width", text(["a"], Number.NaN), "invalid-dtype"],
    [
      "strings that are none",
      raw({ dtype: "string", shape: [1], data: "a", itemLength: 1 }),
      "invalid-argument",
    ],
  ] as const)("%s", async (_, array, code) => {
    await expectError(() => encodeNpy(array), { code });
  });

  test("a version that does not exist", async () => {
    // @ts-expect-error no such version
    await expectError(() => encodeNpy(tensor([1]), { version: 4 }), { code: "invalid-argument" });
  });
});
