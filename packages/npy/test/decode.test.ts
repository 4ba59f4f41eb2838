import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { decodeNpy, decodeNpySequence, encodeNpy, type NpyArray, tensor } from "../src/index.js";
import { npyFile } from "./npy-file.js";

const header = (descr: string, shape: string, fortran = "False") =>
  `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`;

const floats = tensor(Float32Array.of(1, 2, 3));

describe("memory", () => {
  test("aligned data is a view of the given bytes", () => {
    const bytes = encodeNpy(floats);
    const array = decodeNpy(bytes);
    expect(array).toEqual(floats);
    expect(array.dtype === "float32" && array.data.buffer).toBe(bytes.buffer);
  });

  test("copy gives owned memory", () => {
    const bytes = encodeNpy(floats);
    const array = decodeNpy(bytes, { copy: true });
    bytes.fill(0, 128);
    expect(array).toEqual(floats);
  });

  test("data that is not aligned is copied, from any kind of bytes", () => {
    const bytes = encodeNpy(floats);
    const shifted = new Uint8Array(new SharedArrayBuffer(bytes.length + 1), 1);
    shifted.set(bytes);
    expect(decodeNpy(shifted)).toEqual(floats);
    expect(decodeNpy(new DataView(bytes.buffer))).toEqual(floats);
    expect(decodeNpy(bytes.buffer)).toEqual(floats);
  });

  test("shared memory is read, in version 3.0 as well", () => {
    const bytes = encodeNpy(floats, { version: 3 });
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    expect(decodeNpy(shared)).toEqual(floats);
  });

  test("swapping leaves the given bytes alone", () => {
    const file = npyFile(header(">u2", "(2,)"), { data: Uint8Array.of(1, 2, 3, 4) });
    const before = file.slice();
    expect(decodeNpy(file)).toEqual(tensor(Uint16Array.of(0x0102, 0x0304)));
    expect(file).toEqual(before);
  });
});

describe("Fortran order", () => {
  const file = npyFile(header("|u1", "(2, 3)", "True"), { data: Uint8Array.of(0, 3, 1, 4, 2, 5) });

  test("is converted to C order", () => {
    expect(decodeNpy(file)).toEqual(tensor(Uint8Array.of(0, 1, 2, 3, 4, 5), [2, 3]));
  });

  test("is left with the shape reversed", () => {
    const array = decodeNpy(file, { fortranOrder: "reverse-shape" });
    expect(array).toEqual(tensor(Uint8Array.of(0, 3, 1, 4, 2, 5), [3, 2]));
    expect(ArrayBuffer.isView(array.data) && array.data.buffer).toBe(file.buffer);
  });

  test("is refused", async () => {
    await expectError(() => decodeNpy(file, { fortranOrder: "reject" }), {
      code: "unsupported",
      names: ["Fortran", "to-c"],
    });
    const vector = npyFile(header("|u1", "(2,)", "True"), { data: 2 });
    expect(decodeNpy(vector, { fortranOrder: "reject" }).shape).toEqual([2]);
  });

  test("of any shape and item size is the transposed C order", () => {
    const dims = fc.array(fc.nat(5), { minLength: 2, maxLength: 5 });
    const wide = fc.tuple(fc.integer({ min: 1, max: 150 }), fc.integer({ min: 1, max: 150 }));
    const sizes = fc.constantFrom(1, 2, 3, 4, 6, 8, 12, 16);
    fc.assert(
      fc.property(fc.oneof(dims, wide), sizes, fc.nat(3), (shape, itemSize, shift) => {
        const count = shape.reduce((product, dim) => product * dim, 1);
        const data = Uint8Array.from({ length: count * itemSize }, (_, at) => at * 7 + (at >> 8));
        const text = header(`|V${itemSize}`, `(${shape.join(", ")})`, "True") + " ".repeat(shift);
        const { data: actual } = decodeNpy(npyFile(text, { data }));
        if (!(actual instanceof Uint8Array)) throw new Error("void is bytes");
        const expected = new Uint8Array(data.length);
        for (let item = 0; item < count; item++) {
          let rest = item;
          let target = 0;
          for (const dim of shape) {
            target = target * dim + (rest % dim);
            rest = Math.floor(rest / dim);
          }
          expected.set(data.subarray(item * itemSize, (item + 1) * itemSize), target * itemSize);
        }
        expect(indexOfDifference(actual, expected)).toBe(-1);
      }),
      { numRuns: 200 },
    );
  });
});

function indexOfDifference(a: Uint8Array, b: Uint8Array): number {
  return a.length === b.length ? a.findIndex((byte, at) => byte !== b[at]) : b.length;
}

describe("void", () => {
  const file = npyFile(header("|V2", "(1,)"), { data: Uint8Array.of(0x80, 0x3f) });

  test("is read as a dtype of its size, and stays void for others", () => {
    expect(decodeNpy(file, { voidAs: "bfloat16" })).toEqual(
      tensor(Uint16Array.of(0x3f80), [1], "bfloat16"),
    );
    expect(decodeNpy(file, { voidAs: "float8_e5m2" })).toMatchObject({
      dtype: "void",
      itemSize: 2,
    });
  });

  test.each(["float4_e2m1fn", "bfloat", null])("voidAs %s is refused", async (voidAs) => {
    // @ts-expect-error not every one is a dtype
    await expectError(() => decodeNpy(file, { voidAs }), { code: "invalid-argument" });
  });
});

describe("what follows the data", () => {
  const [first, second] = [encodeNpy(floats), encodeNpy(tensor(Int8Array.of(7)))];
  const file = new Uint8Array([...first, ...second]);

  test("is an error, or ignored", async () => {
    await expectError(() => decodeNpy(file), {
      code: "trailing-bytes",
      names: ["129 bytes", "decodeNpySequence"],
    });
    expect(decodeNpy(file, { trailing: "ignore" })).toEqual(floats);
  });

  test("or what is there of the data is counted, and no file but one without a byte is called empty", async () => {
    const whole = encodeNpy(floats);
    for (const [length, wanted] of [
      [0, /takes 10 bytes, the file is empty and has 0 of them$/],
      [9, /header takes 10 bytes, the file has 9 of them$/],
      [127, /header takes 128 bytes, the file has 127 of them$/],
      [128, /takes 12 bytes, the file has 0 of them$/],
      [139, /takes 12 bytes, the file has 11 of them$/],
    ] as const) {
      const error = await expectError(() => decodeNpy(whole.subarray(0, length)), {
        code: "truncated",
      });
      expect(error.message).toMatch(wanted);
      expect(error.details.offset).toBe(length);
    }
  });

  test("is read as a sequence, one array at a time", async () => {
    expect([...decodeNpySequence(file)]).toEqual([floats, tensor(Int8Array.of(7))]);
    const broken = decodeNpySequence(file.subarray(0, -1))[Symbol.iterator]();
    expect(broken.next().value).toEqual(floats);
    await expectError(() => broken.next(), { code: "truncated" });
    await expectError(() => [...decodeNpySequence(new Uint8Array())], { code: "truncated" });
  });

  test("names the array of a sequence that is wrong, and where in the file", async () => {
    const first = encodeNpy(floats).length;
    const cut = await expectError(() => [...decodeNpySequence(file.subarray(0, -1))], {
      code: "truncated",
      names: [`array 1, which starts at offset ${first}`],
    });
    expect(cut.details).toMatchObject({ offset: file.length - 1, expected: 1, actual: 0 });
    const junk = await expectError(
      () => [...decodeNpySequence(Uint8Array.of(...encodeNpy(floats), 1, 2, 3))],
      { code: "not-this-format", names: ["array 1", `offset ${first}`] },
    );
    expect(junk.details.offset).toBe(first);
    const alone = await expectError(() => [
      ...decodeNpySequence(encodeNpy(floats).subarray(0, -1)),
    ]);
    expect(alone.message).not.toMatch(/array \d/);
  });
});

describe("strings", () => {
  const ucs4 = (...codes: number[]) => new Uint8Array(Uint32Array.from(codes).buffer);

  test("are cut at trailing NULs and keep others and lone surrogates", () => {
    const data = ucs4(97, 0, 98, 0, 0x1f600, 0xdc80, 0, 0, 0);
    const file = npyFile(header("<U3", "(3,)"), { data });
    const array = decodeNpy(file);
    expect(array).toEqual({
      dtype: "string",
      shape: [3],
      data: ["a\0b", "\0\u{1f600}\udc80", ""],
      itemLength: 3,
    });
  });

  test.each([[0x110000], [0xffffffff], [0xd83d, 0xde00]])("0x%x is not text", async (...codes) => {
    const file = npyFile(header(`<U${codes.length}`, "()"), { data: ucs4(...codes) });
    await expectError(() => decodeNpy(file), { code: "invalid-utf8", names: ["string 0"] });
  });

  test("of width 0 are limited in number, for no byte stands for them", async () => {
    const file = (count: number) => npyFile(header("<U0", `(${count},)`));
    expect(decodeNpy(file(3))).toMatchObject({ data: ["", "", ""] });
    await expectError(() => decodeNpy(file(2 ** 40)), { code: "limit-exceeded" });
    expect(decodeNpy(npyFile(header("|S0", `(${2 ** 40},)`)))).toMatchObject({ itemSize: 0 });
  });
});

test("datetimes keep their unit and NaT", () => {
  const data = new Uint8Array(BigInt64Array.of(-1n, -(2n ** 63n)).buffer);
  expect(decodeNpy(npyFile(header("<M8[25s]", "(2,)"), { data }))).toEqual({
    dtype: "datetime64",
    shape: [2],
    data: BigInt64Array.of(-1n, -(2n ** 63n)),
    unit: "25s",
  });
  expect(decodeNpy(npyFile(header("m8", "(2,)"), { data }))).toMatchObject({ unit: "" });
});

test("a fortranOrder that does not exist is refused", async () => {
  // @ts-expect-error no such order
  await expectError(() => decodeNpy(encodeNpy(floats), { fortranOrder: "c" }), {
    code: "invalid-argument",
    names: ["fortranOrder"],
  });
});

describe("round trips", () => {
  const shape = fc.array(fc.nat(4), { maxLength: 4 });
  const count = (dims: readonly number[]) => dims.reduce((product, dim) => product * dim, 1);
  const text = (length: number) =>
    fc
      .array(fc.constantFrom("a", "é", "値", "😀", "\0", " "), { maxLength: length })
      .map((characters) => characters.join("").replace(/\0+$/, ""));
  const array: fc.Arbitrary<NpyArray> = shape.chain((dims): fc.Arbitrary<NpyArray> => {
    const n = count(dims);
    const bytes = (itemSize: number) =>
      fc.uint8Array({ minLength: n * itemSize, maxLength: n * itemSize });
    return fc.oneof(
      fc.float64Array({ minLength: n, maxLength: n }).map((data) => tensor(data, dims)),
      fc.bigInt64Array({ minLength: n, maxLength: n }).map((data) => tensor(data, dims)),
      bytes(1).map((data) => tensor(data, dims, "bool")),
      bytes(2).map((data) => tensor(new Uint16Array(data.buffer), dims, "float16")),
      bytes(8).map((data) => tensor(new Float32Array(data.buffer), dims, "complex64")),
      bytes(3).map((data) => ({ dtype: "bytes" as const, shape: dims, data, itemSize: 3 })),
      bytes(5).map((data) => ({ dtype: "void" as const, shape: dims, data, itemSize: 5 })),
      fc
        .bigInt64Array({ minLength: n, maxLength: n })
        .map((data) => ({ dtype: "timedelta64" as const, shape: dims, data, unit: "us" })),
      fc
        .array(text(4), { minLength: n, maxLength: n })
        .map((data) => ({ dtype: "string" as const, shape: dims, data, itemLength: 4 })),
    );
  });
  const version = fc.constantFrom(1 as const, 2 as const, 3 as const);

  test("every array comes back as it was", () => {
    fc.assert(
      fc.property(array, version, fc.boolean(), (given, number, growthPadding) => {
        const file = encodeNpy(given, { version: number, growthPadding });
        expect(decodeNpy(file)).toEqual(given);
        expect(encodeNpy(decodeNpy(file), { version: number, growthPadding })).toEqual(file);
      }),
      { numRuns: 150 },
    );
  });
});
