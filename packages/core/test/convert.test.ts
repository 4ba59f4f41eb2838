import {
  type AnyArray,
  asFloat16Array,
  cast,
  tensor,
  toFloat32,
  toFloat64,
  zeros,
} from "@tensorjar/core";
import { describe, expect, test } from "vitest";
import { expectError, sha256 } from "../../../tooling/testing.js";
import { hashes } from "./golden-numbers.js";
import {
  everyCode,
  finiteNumbers,
  firstDifference,
  plainBits,
  smallFloats,
} from "./small-floats.js";

describe.each(smallFloats)("every %s", (dtype) => {
  test("is the float32 that ml_dtypes has", async () => {
    const bits = plainBits(toFloat32(everyCode(dtype)));
    expect(await sha256(new Uint8Array(bits.buffer))).toBe(hashes[dtype].decoded);
  });

  test("is the number that its layout says", () => {
    const expected = finiteNumbers(dtype);
    expect([...toFloat64(everyCode(dtype)).subarray(0, expected.length)]).toEqual(expected);
    expect([...toFloat32(everyCode(dtype)).subarray(0, expected.length)]).toEqual(expected);
  });

  test("is the same in float64 as in float32, NaNs with their sign", () => {
    const single = toFloat32(everyCode(dtype));
    const double = toFloat64(everyCode(dtype));
    expect(single.every((number, i) => Object.is(number, double[i]))).toBe(true);
    expect(double.length).toBe(single.length);
    const signs = new Uint32Array(double.buffer)
      .filter((_, i) => i % 2 === 1)
      .map((upper) => upper >>> 31);
    expect(
      firstDifference(
        signs,
        new Uint32Array(single.buffer).map((bits) => bits >>> 31),
      ),
    ).toBe(-1);
  });
});

test("float4 has its first element in the low nibble", () => {
  const t = tensor(Uint8Array.of(0x21, 0xf7), [2, 2], "float4_e2m1fn");
  expect([...toFloat32(t)]).toEqual([0.5, 1, 6, -6]);
  expect([...toFloat64(t)]).toEqual([0.5, 1, 6, -6]);
});

test("integers and booleans are numbers", () => {
  expect([...toFloat32(tensor(Int8Array.of(-128, 127)))]).toEqual([-128, 127]);
  expect([...toFloat64(tensor(Uint32Array.of(0, 2 ** 32 - 1)))]).toEqual([0, 2 ** 32 - 1]);
  expect([...toFloat64(tensor(Uint8Array.of(0, 1, 2), [3], "bool"))]).toEqual([0, 1, 1]);
  expect([...toFloat32(tensor(Int32Array.of(2 ** 24 + 1, 2 ** 24 + 3)))]).toEqual([
    2 ** 24,
    2 ** 24 + 4,
  ]);
});

test("64-bit integers go to the nearest number, rounded once", () => {
  const t = tensor(
    BigInt64Array.of(-1n, 2n ** 53n + 1n, 2n ** 53n + 3n, -(2n ** 63n), 2n ** 63n - 1n),
  );
  expect([...toFloat64(t)]).toEqual([-1, 2 ** 53, 2 ** 53 + 4, -(2 ** 63), 2 ** 63]);
  expect([...toFloat64(tensor(BigUint64Array.of(2n ** 64n - 1n, 2n ** 63n + 1025n)))]).toEqual([
    2 ** 64,
    2 ** 63 + 2048,
  ]);
  // Just above a middle of float32, so near that float64 would put it on the middle.
  expect([...toFloat32(tensor(BigInt64Array.of(2n ** 60n + 2n ** 36n + 1n)))]).toEqual([
    2 ** 60 + 2 ** 37,
  ]);
  expect([...toFloat32(tensor(BigInt64Array.of(-(2n ** 60n) - 2n ** 36n - 1n)))]).toEqual([
    -(2 ** 60) - 2 ** 37,
  ]);
});

test("float64 is rounded to float32, past the range to infinity", () => {
  const t = tensor(Float64Array.of(1 + 2 ** -24, 1 + 3 * 2 ** -24, 3.5e38, -3.5e38, 1e-46, -1e-46));
  expect([...toFloat32(t)]).toEqual([1, 1 + 2 ** -22, Infinity, -Infinity, 0, -0]);
});

test("a NaN keeps its sign", () => {
  const single = tensor(new Float32Array(Uint32Array.of(0x7f800001, 0xffc00000).buffer));
  const double = tensor(new Float64Array(Uint32Array.of(1, 0x7ff00000, 0, 0xfff80000).buffer));
  for (const t of [
    single,
    double,
    cast(single, "float16"),
    cast(double, "bfloat16"),
    cast(double, "float8_e5m2"),
  ]) {
    expect(toFloat32(t)).toEqual(Float32Array.of(Number.NaN, Number.NaN));
    expect([...new Uint32Array(toFloat32(t).buffer)].map((bits) => bits >>> 31)).toEqual([0, 1]);
    expect(
      [...new Uint32Array(toFloat64(t).buffer)]
        .filter((_, i) => i % 2 === 1)
        .map((bits) => bits >>> 31),
    ).toEqual([0, 1]);
  }
});

test("complex numbers give pairs", () => {
  expect([
    ...toFloat32(
      tensor(
        [
          [1, 2],
          [3, 4],
        ],
        [2],
        "complex128",
      ),
    ),
  ]).toEqual([1, 2, 3, 4]);
  expect([...toFloat64(tensor([[0.5, -2]], undefined, "complex64"))]).toEqual([0.5, -2]);
});

test("the result is the caller's own memory", () => {
  for (const t of [tensor(Float32Array.of(1, 2)), tensor(Float64Array.of(1, 2))]) {
    toFloat32(t).fill(9);
    toFloat64(t).fill(9);
    expect([...t.data]).toEqual([1, 2]);
  }
});

test("arrays longer than one piece of work are whole", () => {
  const numbers = Float64Array.from({ length: 20_001 }, (_, i) => (i % 2048) - 1024);
  for (const dtype of ["float16", "float32", "float64", "int16", "int64"] as const) {
    const t = cast(tensor(numbers), dtype);
    expect(firstDifference(toFloat64(t), numbers)).toBe(-1);
    expect(firstDifference(toFloat32(t), Float32Array.from(numbers))).toBe(-1);
    expect(firstDifference(cast(t, "float64").data, numbers)).toBe(-1);
    const [direct, through] = [cast(t, "float16"), cast(cast(t, "int64"), "float16")];
    expect(firstDifference(direct.data, through.data)).toBe(-1);
  }
});

test.each(smallFloats.filter((dtype) => dtype !== "float4_e2m1fn"))(
  "%s of any length and place is decoded to its end, and no further",
  (dtype) => {
    const codes = everyCode(dtype).data;
    const Data = codes.constructor === Uint16Array ? Uint16Array : Uint8Array;
    const bits = new Uint32Array(toFloat32(everyCode(dtype)).buffer);
    const lengths = [
      0, 1, 15, 16, 17, 31, 32, 33, 16383, 16384, 16385, 16417, 65535, 65536, 70_001,
    ];
    for (const length of lengths) {
      const wanted = Uint32Array.from({ length }, (_, i) => bits[(7 * i) % bits.length] ?? 0);
      for (const place of [0, 1]) {
        const data = new Data(length + place).subarray(place);
        for (let i = 0; i < length; i++) data[i] = codes[(7 * i) % codes.length] ?? 0;
        const made = toFloat32({ dtype, shape: [length], data });
        expect(firstDifference(made, wanted), `of ${length} at ${place}`).toBe(-1);
      }
    }
  },
);

test("parts of a larger buffer are read where they are", () => {
  const whole = Uint16Array.of(0, 0x3c00, 0x4000, 0);
  expect([...toFloat32(tensor(whole.subarray(1, 3), [2], "float16"))]).toEqual([1, 2]);
  const doubles = Float64Array.of(7, 8, 9).subarray(1);
  expect([...toFloat32(tensor(doubles))]).toEqual([8, 9]);
});

test("an empty tensor gives nothing, a scalar one number", () => {
  expect(toFloat32(zeros([0, 3], "bfloat16"))).toEqual(new Float32Array(0));
  expect(toFloat64(zeros([0], "int64"))).toEqual(new Float64Array(0));
  expect([...toFloat32(tensor(2.5, [], "float16"))]).toEqual([2.5]);
});

describe("what holds no numbers is refused", () => {
  const cases: [string, AnyArray, { code: string; names: string[] }][] = [
    ["nothing", undefined, { code: "not-found", names: ["undefined"] }],
    [
      "strings",
      { dtype: "string", shape: [1], data: ["x"] },
      { code: "invalid-dtype", names: ['"string"'] },
    ],
    [
      "float6",
      tensor(new Uint8Array(3), [4], "float6_e2m3fn"),
      { code: "unsupported", names: ["float6_e2m3fn"] },
    ],
    [
      "float6",
      tensor(new Uint8Array(3), [4], "float6_e3m2fn"),
      { code: "unsupported", names: ["float6_e3m2fn"] },
    ],
    [
      "too few bytes",
      { dtype: "float32", shape: [3], data: new Float32Array(2) },
      { code: "invalid-shape", names: ["12", "8"] },
    ],
    [
      "another array",
      { dtype: "float32", shape: [2], data: new Float64Array(2) },
      { code: "invalid-argument", names: ["Float32Array"] },
    ],
  ];
  test.each(cases)("%s", async (_title, t, error) => {
    await expectError(() => toFloat32(t), error);
    await expectError(() => toFloat64(t), error);
    await expectError(() => cast(t, "float64"), error);
  });
});

test("a float16 tensor is a Float16Array on the same memory where there is one", async () => {
  const t = tensor(Uint16Array.of(0, 0x3c00, 0x4000).subarray(1), [2], "float16");
  if ("Float16Array" in globalThis) {
    const view = asFloat16Array(t);
    expect(Object.prototype.toString.call(view)).toBe("[object Float16Array]");
    expect([...view]).toEqual([1, 2]);
    expect(view.buffer).toBe(t.data.buffer);
    expect(Reflect.apply(tensor, undefined, [view])).toEqual({
      dtype: "float16",
      shape: [2],
      data: t.data,
    });
  } else
    await expectError(() => asFloat16Array(t), { code: "unsupported", names: ["Float16Array"] });
  await expectError(() => asFloat16Array(tensor(Uint16Array.of(1))), {
    code: "invalid-dtype",
    names: ["float16"],
  });
  await expectError(() => asFloat16Array(undefined), { code: "not-found" });
});
