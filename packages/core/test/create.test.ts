import { type DType, type Tensor, tensor, toNested, zeros } from "@tensorjar/core";
import { dataConstructor } from "@tensorjar/core/codec";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

/** A call that TypeScript would not let through. */
const untyped = (...args: unknown[]): unknown => Reflect.apply(tensor, undefined, args);

describe("typed arrays", () => {
  const classes: [DType, new (length: number) => ArrayBufferView][] = [
    ["int8", Int8Array],
    ["uint8", Uint8Array],
    ["int16", Int16Array],
    ["uint16", Uint16Array],
    ["int32", Int32Array],
    ["uint32", Uint32Array],
    ["int64", BigInt64Array],
    ["uint64", BigUint64Array],
    ["float32", Float32Array],
    ["float64", Float64Array],
  ];
  test.each(classes)("%s is told by the class; the array itself is kept", (dtype, Class) => {
    const data = new Class(6);
    expect(untyped(data)).toEqual({ dtype, shape: [6], data });
    expect(untyped(data, [2, 3])).toEqual({ dtype, shape: [2, 3], data });
    expect(untyped(data, [2, 3], dtype)).toHaveProperty("data", data);
    expect(Reflect.get(Object(untyped(data)), "data")).toBe(data);
  });

  test("the compiler infers the dtype as well", () => {
    expectTypeOf(tensor(new Float32Array(1)).dtype).toEqualTypeOf<"float32">();
    expectTypeOf(tensor(new BigInt64Array(1)).data).toEqualTypeOf<BigInt64Array>();
    expectTypeOf(tensor(new Uint16Array(1), [1], "bfloat16").dtype).toEqualTypeOf<"bfloat16">();
    const either = new Float32Array(1) as Float32Array | BigInt64Array;
    expectTypeOf(tensor(either)).toEqualTypeOf<Tensor>();
    const bytes = new Uint8ClampedArray(1);
    expectTypeOf(tensor(bytes).dtype).toEqualTypeOf<"uint8">();
    expectTypeOf(tensor(bytes as typeof bytes | Float32Array)).toEqualTypeOf<Tensor>();
    expectTypeOf(zeros([2]).dtype).toEqualTypeOf<"float32">();
    expect(zeros([2], "int8").data).toBeInstanceOf(Int8Array);
  });

  test("bits and bytes take the dtype that is named", () => {
    for (const dtype of ["float16", "bfloat16"] as const) {
      expect(tensor(Uint16Array.of(1, 2), undefined, dtype)).toEqual({
        dtype,
        shape: [2],
        data: Uint16Array.of(1, 2),
      });
    }
    for (const dtype of ["bool", "float8_e4m3fn", "float8_e8m0fnu"] as const) {
      expect(tensor(Uint8Array.of(1, 0), [2, 1], dtype)).toEqual({
        dtype,
        shape: [2, 1],
        data: Uint8Array.of(1, 0),
      });
    }
    expect(tensor(Float32Array.of(1, 2, 3, 4), undefined, "complex64").shape).toEqual([2]);
    expect(tensor(Float64Array.of(1, 2), [], "complex128").shape).toEqual([]);
    expect(tensor(Uint8Array.of(1, 2), undefined, "float4_e2m1fn").shape).toEqual([4]);
    expect(tensor(Uint8Array.of(1, 2, 3), undefined, "float6_e3m2fn").shape).toEqual([4]);
  });

  test("a view keeps its place in its buffer; memory is shared", () => {
    const whole = Float64Array.of(0, 1, 2, 3);
    const t = tensor(whole.subarray(1, 3));
    whole[1] = 9;
    expect([...t.data]).toEqual([9, 2]);
    expect(t.data.byteOffset).toBe(8);
  });

  test("a subclass and clamped bytes become plain arrays on the same memory", () => {
    class Mine extends Float32Array {}
    const mine = Mine.of(1, 2);
    const t = tensor(mine);
    expect(Object.getPrototypeOf(t.data)).toBe(Float32Array.prototype);
    expect(t.data.buffer).toBe(mine.buffer);
    const pixels = Uint8ClampedArray.of(1, 2, 3).subarray(1);
    expect(untyped(pixels)).toEqual({ dtype: "uint8", shape: [2], data: Uint8Array.of(2, 3) });
    expect(untyped(pixels, [2], "bool")).toEqual({
      dtype: "bool",
      shape: [2],
      data: Uint8Array.of(2, 3),
    });
  });

  test("a Float16Array becomes float16 bits on the same memory", () => {
    const Class: unknown = Reflect.get(globalThis, "Float16Array");
    // Where the runtime has none, its like: what counts is the class tag.
    const data =
      typeof Class === "function"
        ? Reflect.construct(Class, [[1, 2]])
        : Object.defineProperty(Uint16Array.of(0x3c00, 0x4000), Symbol.toStringTag, {
            value: "Float16Array",
          });
    const t = untyped(data);
    expect(t).toEqual({ dtype: "float16", shape: [2], data: Uint16Array.of(0x3c00, 0x4000) });
    expect(Reflect.get(Object(t), "data").buffer).toBe(data.buffer);
    expect(untyped(data, [1, 2], "float16")).toHaveProperty("shape", [1, 2]);
  });

  const refused: [string, unknown[], string, string[]][] = [
    [
      "numbers of another dtype",
      [new Float32Array(2), [2], "float16"],
      "invalid-argument",
      ["float16", "Float32Array", "cast"],
    ],
    [
      "integers as bool",
      [new Int8Array(2), [2], "bool"],
      "invalid-argument",
      ["bool", "Int8Array"],
    ],
    [
      "float64 as complex64",
      [new Float64Array(2), [1], "complex64"],
      "invalid-argument",
      ["complex64", "cast"],
    ],
    [
      "a Uint16Array as uint8",
      [new Uint16Array(2), [2], "uint8"],
      "invalid-argument",
      ["Uint8Array"],
    ],
    [
      "a DataView",
      [new DataView(new ArrayBuffer(4)), [4], "uint8"],
      "invalid-argument",
      ["DataView"],
    ],
    ["an ArrayBuffer", [new ArrayBuffer(4)], "invalid-argument", ["ArrayBuffer"]],
    ["too many elements", [new Float32Array(7), [2, 3]], "invalid-shape", ["\\(2, 3\\)", "6", "7"]],
    ["too few elements", [new Float32Array(1), [2]], "invalid-shape", ["2", "1"]],
    ["elements for an empty shape", [new Float32Array(1), [0]], "invalid-shape", ["0", "1"]],
    [
      "half a complex number",
      [new Float32Array(3), undefined, "complex64"],
      "invalid-shape",
      ["complex64", "12"],
    ],
    [
      "half a group of float6",
      [new Uint8Array(4), undefined, "float6_e2m3fn"],
      "invalid-shape",
      ["float6_e2m3fn", "4"],
    ],
    ["odd float4", [new Uint8Array(1), [1], "float4_e2m1fn"], "invalid-shape", ["float4_e2m1fn"]],
    ["a negative dim", [new Float32Array(2), [-2]], "invalid-shape", ["-2"]],
    ["a dim that is no integer", [new Float32Array(2), [1.5]], "invalid-shape", ["1.5"]],
    ["a hole in the shape", [new Float32Array(2), new Array(1)], "invalid-shape", ["undefined"]],
    [
      "a shape past 2^53",
      [new Float32Array(0), [2 ** 40, 2 ** 40, 0]],
      "invalid-shape",
      ["2\\^53"],
    ],
    ["a number as shape", [new Float32Array(2), 2], "invalid-shape", ["2"]],
    ["null as shape", [new Float32Array(2), null], "invalid-shape", ["null"]],
    ["an unknown dtype", [new Float32Array(2), [2], "f4"], "invalid-dtype", ['"f4"']],
  ];
  test.each(refused)("refused: %s", async (_title, args, code, names) => {
    await expectError(() => untyped(...args), { code, names });
  });
});

describe("numbers and nested arrays", () => {
  test("numbers are float64, bigints int64, booleans bool", () => {
    expect(tensor([1, 2.5])).toEqual({
      dtype: "float64",
      shape: [2],
      data: Float64Array.of(1, 2.5),
    });
    expect(tensor([[1n], [-2n]])).toEqual({
      dtype: "int64",
      shape: [2, 1],
      data: BigInt64Array.of(1n, -2n),
    });
    expect(tensor([true, false])).toEqual({ dtype: "bool", shape: [2], data: Uint8Array.of(1, 0) });
    expect(tensor(7)).toEqual({ dtype: "float64", shape: [], data: Float64Array.of(7) });
    expect(tensor(3, [], "int64")).toEqual({
      dtype: "int64",
      shape: [],
      data: BigInt64Array.of(3n),
    });
    expect(tensor([])).toEqual({ dtype: "float64", shape: [0], data: new Float64Array(0) });
    expect(tensor([[], []])).toEqual({
      dtype: "float64",
      shape: [2, 0],
      data: new Float64Array(0),
    });
  });

  test("a shape arranges them anew", () => {
    expect(tensor([1, 2, 3, 4, 5, 6], [2, 3]).shape).toEqual([2, 3]);
    expect(
      toNested(
        tensor(
          [
            [1, 2],
            [3, 4],
          ],
          [4],
        ),
      ),
    ).toEqual([1, 2, 3, 4]);
    expect(tensor(5, [1, 1]).shape).toEqual([1, 1]);
    expect(tensor([5], []).shape).toEqual([]);
    expect(tensor([[], []], [0, 7]).shape).toEqual([0, 7]);
  });

  test("integer dtypes take exact integers, also as numbers or bigints", () => {
    expect([...tensor([1, -128n as unknown as number, 127], undefined, "int8").data]).toEqual([
      1, -128, 127,
    ]);
    expect([...tensor([2 ** 63, 1], undefined, "uint64").data]).toEqual([2n ** 63n, 1n]);
    expect([...tensor([0, -0], undefined, "uint32").data]).toEqual([0, 0]);
  });

  test("float dtypes round to nearest even, bigints too", () => {
    expect([...tensor([1 + 2 ** -11, 1 + 3 * 2 ** -11], undefined, "float16").data]).toEqual([
      0x3c00, 0x3c02,
    ]);
    expect([...tensor([2n ** 53n + 1n, 2n ** 53n + 3n], undefined, "float64").data]).toEqual([
      2 ** 53,
      2 ** 53 + 4,
    ]);
    expect([
      ...tensor([2n ** 60n + 2n ** 36n + 1n, -(2n ** 60n) - 2n ** 36n], undefined, "float32").data,
    ]).toEqual([2 ** 60 + 2 ** 37, -(2 ** 60)]);
    expect([
      ...tensor([2n ** 100n + 2n ** 76n + 1n, 10n ** 5000n, -(10n ** 400n)], undefined, "float32")
        .data,
    ]).toEqual([2 ** 100 + 2 ** 77, Infinity, -Infinity]);
    expect([...tensor([1, 2, -3, 6], undefined, "float4_e2m1fn").data]).toEqual([0x42, 0x7d]);
  });

  test("bool takes booleans, 0 and 1", () => {
    const values = [true, 0, 1, false, 0n, 1n];
    expect([...tensor(values as never[], undefined, "bool").data]).toEqual([1, 0, 1, 0, 0, 1]);
  });

  test("complex dtypes take [re, im] as the last axis", () => {
    expect(tensor([1, 2], undefined, "complex64")).toEqual({
      dtype: "complex64",
      shape: [],
      data: Float32Array.of(1, 2),
    });
    expect(tensor([[[1, 2]], [[3, 4n]]] as never[], undefined, "complex128")).toEqual({
      dtype: "complex128",
      shape: [2, 1],
      data: Float64Array.of(1, 2, 3, 4),
    });
    expect(tensor([], undefined, "complex64").shape).toEqual([0]);
    expect(
      tensor(
        [
          [1, 2],
          [3, 4],
        ],
        [2, 1],
        "complex64",
      ).shape,
    ).toEqual([2, 1]);
  });

  const deep = (axes: number): unknown => {
    let value: unknown = 1;
    for (let i = 0; i < axes; i++) value = [value];
    return value;
  };
  const circle: unknown[] = [];
  circle.push(circle);

  test("64 axes are taken, also of complex numbers", () => {
    expect(untyped(deep(64))).toHaveProperty("shape.length", 64);
    let value: unknown = [1, 2];
    for (let i = 0; i < 64; i++) value = [value];
    expect(untyped(value, undefined, "complex64")).toHaveProperty("shape.length", 64);
  });

  const refused: [string, unknown[], string, string[]][] = [
    ["ragged lists", [[[1, 2], [3]]], "invalid-shape", ["ragged", "\\[1\\]", "1", "2"]],
    ["a list after a number", [[1, [2]]], "invalid-shape", ["ragged", "\\[1\\]"]],
    ["a number after a list", [[[1], 2]], "invalid-shape", ["ragged", "\\[1\\]"]],
    ["a list after an empty one", [[[], [1]]], "invalid-shape", ["ragged"]],
    ["numbers and bigints", [[1, 2n]], "invalid-argument", ["mixes", "\\[1\\]"]],
    ["numbers and booleans", [[1, true]], "invalid-argument", ["mixes"]],
    ["a string", [["1"]], "invalid-argument", ['"1"']],
    ["null", [[1, null]], "invalid-argument", ["null"]],
    ["nothing", [undefined], "invalid-argument", ["undefined"]],
    [
      "a hole",
      [Object.assign(new Array(3), { 0: 1, 2: 3 })],
      "invalid-argument",
      ["\\[1\\]", "undefined"],
    ],
    ["an object", [{ length: 1 }], "invalid-argument", ["object"]],
    ["a typed array in a list", [[new Float32Array(2)]], "invalid-argument", ["Float32Array"]],
    [
      "a fraction as an integer",
      [[1, 1.5], undefined, "int8"],
      "invalid-argument",
      ["1.5", "int8", "\\[1\\]"],
    ],
    ["a number past the range", [[128], undefined, "int8"], "invalid-argument", ["128", "127"]],
    [
      "a bigint past the range",
      [2n ** 63n, undefined, "int64"],
      "invalid-argument",
      ["9223372036854775808"],
    ],
    ["an unsigned negative", [-1, [], "uint64"], "invalid-argument", ["-1", "uint64"]],
    ["NaN as an integer", [Number.NaN, [], "int32"], "invalid-argument", ["NaN"]],
    ["Infinity as an integer", [[Infinity], [1], "uint64"], "invalid-argument", ["Infinity"]],
    ["a boolean as an integer", [true, [], "int8"], "invalid-argument", ["true"]],
    ["a boolean as a float", [[true], [1], "float32"], "invalid-argument", ["true"]],
    ["2 as bool", [[2], [1], "bool"], "invalid-argument", ["2", "bool"]],
    ["NaN as bool", [Number.NaN, [], "bool"], "invalid-argument", ["NaN"]],
    [
      "a bigint too large without a dtype",
      [2n ** 64n],
      "invalid-argument",
      ["18446744073709551616"],
    ],
    ["a real number as complex", [1, [], "complex64"], "invalid-shape", ["re, im"]],
    [
      "three parts of a complex number",
      [[[1, 2, 3]], undefined, "complex64"],
      "invalid-shape",
      ["re, im"],
    ],
    ["another count than the shape's", [[1, 2, 3], [2]], "invalid-shape", ["\\(2,\\)", "\\(3,\\)"]],
    ["a scalar for two elements", [1, [2]], "invalid-shape", ["1", "2"]],
    ["float6", [[1, 2, 3, 4], [4], "float6_e2m3fn"], "unsupported", ["float6_e2m3fn"]],
    ["an odd number of float4", [[1], [1], "float4_e2m1fn"], "invalid-shape", ["float4_e2m1fn"]],
    ["65 axes", [deep(65)], "invalid-shape", ["64"]],
    ["100,000 axes", [deep(100_000)], "invalid-shape", ["64"]],
    ["a circle", [circle], "invalid-shape", ["64"]],
  ];
  test.each(refused)("refused: %s", async (_title, args, code, names) => {
    await expectError(() => untyped(...args), { code, names });
  });

  test("a list that claims what no memory holds is refused", async () => {
    const lists = new Array(2 ** 32 - 1);
    lists[0] = new Array(2 ** 32 - 1);
    lists[0][0] = 1;
    await expectError(() => untyped(lists), { code: ["invalid-shape", "limit-exceeded"] });
  });

  test("what toNested gives comes back", () => {
    const dtypes = [
      "bool",
      "int8",
      "uint16",
      "int64",
      "uint64",
      "float16",
      "bfloat16",
      "float8_e5m2",
      "float32",
      "float64",
      "complex64",
      "complex128",
    ] as const;
    const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 });
    fc.assert(
      fc.property(
        fc.constantFrom(...dtypes),
        shapes,
        fc.uint8Array({ minLength: 16, maxLength: 64 }),
        (dtype, shape, seed) => {
          const { buffer } = zeros(shape, dtype).data;
          // Small exponents in every dtype: no NaN, whose payload is free.
          new Uint8Array(buffer).forEach((_, i, bytes) => {
            bytes[i] = (seed[i % seed.length] ?? 0) & (dtype === "bool" ? 1 : 0x3b);
          });
          const Data = dataConstructor(dtype);
          const t = tensor(new Data(buffer), shape, dtype);
          expect(untyped(toNested(t), shape, dtype)).toEqual(t);
        },
      ),
    );
  });
});

describe("the shape", () => {
  test("is a copy", () => {
    const shape = [2, 1];
    const made = [tensor(new Int8Array(2), shape), tensor([1, 2], shape), zeros(shape)];
    shape[0] = 5;
    for (const t of made) expect(t.shape).toEqual([2, 1]);
  });
});

describe("zeros", () => {
  test("are float32 by default", () => {
    expect(zeros([2, 3])).toEqual({ dtype: "float32", shape: [2, 3], data: new Float32Array(6) });
    expect(zeros([])).toEqual({ dtype: "float32", shape: [], data: new Float32Array(1) });
  });

  test("have the array of every dtype", () => {
    expect(zeros([2], "complex64").data).toEqual(new Float32Array(4));
    expect(zeros([3], "complex128").data).toEqual(new Float64Array(6));
    expect(zeros([4], "float4_e2m1fn").data).toEqual(new Uint8Array(2));
    expect(zeros([4], "float6_e2m3fn").data).toEqual(new Uint8Array(3));
    expect(zeros([0, 2 ** 40], "int64").data).toEqual(new BigInt64Array(0));
  });

  test("are refused for what is no shape or no dtype, and where memory ends", async () => {
    await expectError(() => zeros([-1]), { code: "invalid-shape", names: ["-1"] });
    await expectError(() => Reflect.apply(zeros, undefined, [3]), {
      code: "invalid-shape",
      names: ["3"],
    });
    await expectError(() => Reflect.apply(zeros, undefined, [[2], "float"]), {
      code: "invalid-dtype",
      names: ['"float"'],
    });
    await expectError(() => zeros([3], "float4_e2m1fn"), {
      code: "invalid-shape",
      names: ["float4"],
    });
    await expectError(() => zeros([2 ** 50], "float64"), {
      code: ["limit-exceeded", "invalid-shape"],
    });
    await expectError(() => zeros([2 ** 45]), { code: "limit-exceeded", names: [String(2 ** 47)] });
  });
});
