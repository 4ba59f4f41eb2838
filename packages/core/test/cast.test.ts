import {
  cast,
  type DType,
  dtypeInfo,
  type Tensor,
  type TensorOf,
  tensor,
  toFloat32,
  toFloat64,
  toNested,
  zeros,
} from "@tensorjar/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectError, random, sha256 } from "../../../tooling/testing.js";
import { hashes } from "./golden-numbers.js";
import { everyCode, finiteNumbers, firstDifference, smallFloats } from "./small-floats.js";

/** Lower halves of float32 bits on, beside and between the middles of narrower floats. */
const lower = [0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff];
const patterns = new Uint32Array(65536 * lower.length);
for (let i = 0; i < patterns.length; i++) {
  patterns[i] = (Math.floor(i / lower.length) << 16) | (lower[i % lower.length] ?? 0);
}

describe.each(smallFloats)("to %s", (dtype) => {
  test("every upper half of float32 is rounded as ml_dtypes does", async () => {
    const { data } = cast(tensor(new Float32Array(patterns.buffer)), dtype);
    const plain = data.slice();
    if (dtype === "float16") {
      for (let i = 0; i < plain.length; i++) {
        const code = plain[i] ?? 0;
        if ((code & 0x7fff) > 0x7c00) plain[i] = (code & 0x8000) | 0x7e00;
      }
    }
    expect(await sha256(new Uint8Array(plain.buffer))).toBe(hashes[dtype].encoded);
  });

  test("the nearest number is taken, of two the even one", () => {
    const numbers = finiteNumbers(dtype);
    const inputs: number[] = [];
    const expected: number[] = [];
    // float8_e8m0fnu takes the upper one, and between its two smallest numbers always does.
    const unsigned = dtype === "float8_e8m0fnu";
    for (let code = unsigned ? 1 : 0; code + 1 < numbers.length; code++) {
      const middle = ((numbers[code] ?? 0) + (numbers[code + 1] ?? 0)) / 2;
      // So close to the middle that float32 cannot tell: rounding twice would go wrong.
      inputs.push(middle * (1 - 2 ** -50), middle, middle * (1 + 2 ** -50), middle);
      const even = unsigned || code % 2 === 1 ? code + 1 : code;
      expected.push(code, even, code + 1, even);
    }
    expect(firstWrong(cast(tensor(inputs), dtype), expected)).toBe(-1);
    expect(firstWrong(tensor(inputs, undefined, dtype), expected)).toBe(-1);
    if (unsigned) return;
    const sign = 2 ** (dtypeInfo(dtype).bits - 1);
    const negative = expected.map((code) =>
      code === 0 && dtype.endsWith("fnuz") ? 0 : code + sign,
    );
    expect(firstWrong(cast(tensor(inputs.map((x) => -x)), dtype), negative)).toBe(-1);
  });

  test("its own numbers come back", () => {
    const all = everyCode(dtype);
    expect(firstDifference(cast(all, dtype).data, all.data)).toBe(-1);
    expect(cast(all, dtype).data === all.data).toBe(false);
    const numbers = finiteNumbers(dtype);
    const even = numbers.length - (numbers.length % 2);
    const expected = numbers.slice(0, even).map((_, code) => code);
    expect(firstWrong(cast(tensor(numbers.slice(0, even)), dtype), expected)).toBe(-1);
    expect(firstWrong(cast(cast(tensor(numbers.slice(0, even)), "float32"), dtype), expected)).toBe(
      -1,
    );
  });
});

/** The first element whose code is not the expected one, -1 for none. */
function firstWrong(t: TensorOf<DType>, codes: readonly number[]): number {
  const packed = t.dtype === "float4_e2m1fn";
  if (t.data.length * (packed ? 2 : 1) !== codes.length) return codes.length;
  return codes.findIndex((code, i) => {
    const whole = Number(t.data[packed ? i >> 1 : i]);
    return code !== (packed ? (whole >> (4 * (i % 2))) & 15 : whole);
  });
}

describe("numbers that a small float does not hold", () => {
  const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
  const cases: [DType, (readonly [input: number, output: number])[]][] = [
    [
      "float16",
      [
        [65504, 65504],
        [65519.99, 65504],
        [65520, inf],
        [-1e300, -inf],
        [2 ** -25, 0],
        [-(2 ** -26), -0],
        [2.1 ** -25, 0],
      ],
    ],
    [
      "bfloat16",
      [
        [3.39e38, 3.3895313892515355e38],
        [3.4e38, inf],
        [-inf, -inf],
        [2 ** -134, 0],
        [1.01 * 2 ** -134, 2 ** -133],
      ],
    ],
    [
      "float8_e5m2",
      [
        [61439, 57344],
        [61440, inf],
        [-inf, -inf],
        [2 ** -17, 0],
        [-(2 ** -18), -0],
      ],
    ],
    [
      "float8_e4m3fn",
      [
        [464, 448],
        [464.001, nan],
        [-480, nan],
        [inf, nan],
        [2 ** -10, 0],
        [-1e-9, -0],
      ],
    ],
    [
      "float8_e4m3fnuz",
      [
        [247.99, 240],
        [248, nan],
        [-inf, nan],
        [-0, 0],
        [-1e-9, 0],
      ],
    ],
    [
      "float8_e5m2fnuz",
      [
        [61439, 57344],
        [61440, nan],
        [inf, nan],
        [-0, 0],
        [-1e-9, 0],
      ],
    ],
    [
      "float8_e8m0fnu",
      [
        [0, nan],
        [-0, nan],
        [-1, nan],
        [1.5, 2],
        [3, 4],
        [1e-40, 2 ** -127],
        [1.49 * 2 ** 127, 2 ** 127],
        [1.5 * 2 ** 127, nan],
        [inf, nan],
      ],
    ],
    [
      "float4_e2m1fn",
      [
        [100, 6],
        [-inf, -6],
        [5, 4],
        [5.01, 6],
        [0.25, 0],
        [-0.25, -0],
        [nan, -0],
        [0.26, 0.5],
      ],
    ],
    [
      "float32",
      [
        [3.5e38, inf],
        [-1e300, -inf],
        [1e-46, 0],
        [-1e-46, -0],
      ],
    ],
    [
      "complex64",
      [
        [3.5e38, inf],
        [1e-46, 0],
      ],
    ],
  ];
  test.each(cases)("%s", (dtype, rows) => {
    const pairs = rows.length % 2 === 0 ? rows : [...rows, [1, 1] as const];
    const made = cast(tensor(pairs.map(([input]) => input)), dtype);
    const step = dtypeInfo(dtype).components;
    const numbers = [...toFloat64(made)].filter((_, i) => i % step === 0);
    expect(numbers).toEqual(pairs.map(([, output]) => output));
    expect(toFloat64(cast(tensor(numbers), dtype))).toEqual(toFloat64(made));
  });

  test("a NaN keeps its sign where the type has one", () => {
    const nans = tensor(new Float32Array(Uint32Array.of(0x7fc00000, 0xffc00001).buffer));
    const expected: [DType, number[]][] = [
      ["float16", [0x7e00, 0xfe00]],
      ["bfloat16", [0x7fc0, 0xffc0]],
      ["float8_e4m3fn", [0x7f, 0xff]],
      ["float8_e5m2", [0x7e, 0xfe]],
      ["float8_e4m3fnuz", [0x80, 0x80]],
      ["float8_e5m2fnuz", [0x80, 0x80]],
      ["float8_e8m0fnu", [0xff, 0xff]],
    ];
    for (const [dtype, bits] of expected) {
      expect([...cast(nans, dtype).data], dtype).toEqual(bits);
      expect([...cast(cast(nans, "float64"), dtype).data], dtype).toEqual(bits);
    }
  });
});

describe("to integers", () => {
  test("floats are truncated", () => {
    const t = tensor([1.9, -1.9, -0.9, 0, -0, 126.99]);
    for (const from of ["float64", "float32"] as const) {
      expect([...cast(cast(t, from), "int8").data]).toEqual([1, -1, 0, 0, 0, 126]);
      expect([...cast(cast(t, from), "int64").data]).toEqual([1n, -1n, 0n, 0n, 0n, 126n]);
    }
    expect([...cast(tensor([255.9, -0.9]), "uint8").data]).toEqual([255, 0]);
    expect([...cast(tensor([2 ** 63, 2 ** 53 + 2, 0x1_0000_0001]), "uint64").data]).toEqual([
      2n ** 63n,
      2n ** 53n + 2n,
      0x1_0000_0001n,
    ]);
    expect([...cast(tensor([-(2 ** 63), -1, -(2 ** 40) - 7]), "int64").data]).toEqual([
      -(2n ** 63n),
      -1n,
      -(2n ** 40n) - 7n,
    ]);
    expect([...cast(tensor([1, 6], undefined, "float4_e2m1fn"), "uint16").data]).toEqual([1, 6]);
  });

  test("what does not fit is refused with its place and value", async () => {
    const cases: [TensorOf<DType>, DType, string[]][] = [
      [
        tensor([
          [1, 2],
          [3, 128],
        ]),
        "int8",
        ["\\(1, 1\\)", "float64", "128", "int8"],
      ],
      [tensor([-1]), "uint8", ["\\(0,\\)", "-1", "uint8"]],
      [tensor(Number.NaN), "int32", ["\\(\\)", "NaN"]],
      [tensor([Infinity]), "uint64", ["Infinity"]],
      [tensor([1e300]), "uint64", ["1e\\+300"]],
      [tensor([2 ** 63]), "int64", ["9223372036854775808"]],
      [tensor([2 ** 64]), "uint64", ["18446744073709551616"]],
      [tensor([-1], undefined, "float16"), "uint16", ["float16", "-1"]],
      [tensor([0n, 300n]), "uint8", ["\\(1,\\)", "300"]],
      [tensor(BigUint64Array.of(2n ** 63n)), "int64", ["9223372036854775808"]],
      [tensor([2n ** 63n - 1n]), "int32", ["9223372036854775807"]],
      [tensor([-5n]), "uint64", ["-5"]],
    ];
    for (const [t, dtype, names] of cases)
      await expectError(() => cast(t, dtype), { code: "invalid-argument", names });
    // Far behind the first piece of work.
    const long = new Float64Array(30_000);
    long[20_007] = -1;
    await expectError(() => cast(tensor(long, [3, 10_000]), "uint8"), {
      code: "invalid-argument",
      names: ["\\(2, 7\\)"],
    });
  });

  test("integers keep their value or are refused", () => {
    const dtypes = [
      "int8",
      "uint8",
      "int16",
      "uint16",
      "int32",
      "uint32",
      "int64",
      "uint64",
    ] as const;
    const fits = (value: bigint, dtype: (typeof dtypes)[number]): boolean =>
      (dtype.startsWith("u") ? BigInt.asUintN : BigInt.asIntN)(dtypeInfo(dtype).bits, value) ===
      value;
    fc.assert(
      fc.property(
        fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n),
        fc.integer({ min: 0, max: 63 }),
        fc.constantFrom(...dtypes),
        fc.constantFrom(...dtypes),
        (wide, cut, from, to) => {
          const value = wide >> BigInt(cut);
          fc.pre(fits(value, from));
          const given = tensor(value, [], from);
          const made = fits(value, to) ? cast(given, to).data[0] : undefined;
          if (made === undefined) expect(() => cast(given, to)).toThrow(String(value));
          else expect(BigInt(made)).toBe(value);
        },
      ),
    );
  });
});

test("64-bit integers to floats are rounded once", () => {
  expect([...cast(tensor([2n ** 60n + 2n ** 36n + 1n]), "float32").data]).toEqual([
    2 ** 60 + 2 ** 37,
  ]);
  // The middle of two bfloat16 numbers is 2^60 + 2^52; one more is nearer to the upper one.
  const near = tensor([
    2n ** 60n + 2n ** 52n,
    2n ** 60n + 2n ** 52n + 1n,
    2n ** 60n + 2n ** 52n - 1n,
  ]);
  expect([...toFloat64(cast(near, "bfloat16"))]).toEqual([2 ** 60, 2 ** 60 + 2 ** 53, 2 ** 60]);
  expect(toNested(cast(near, "complex128"))).toEqual(
    [2 ** 60 + 2 ** 52, 2 ** 60 + 2 ** 52, 2 ** 60 + 2 ** 52].map((re) => [re, 0]),
  );
});

test("any float is cast as the numbers it stands for", () => {
  const numbers = random(7);
  const doubles = Float64Array.from(
    { length: 2000 },
    () => (numbers.next() - 0.5) * 2 ** (numbers.below(60) - 40),
  );
  for (const from of ["float16", "bfloat16", "float32", "float8_e5m2", "float4_e2m1fn"] as const) {
    const given = cast(tensor(doubles), from);
    for (const to of ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn"] as const) {
      expect(firstDifference(cast(given, to).data, cast(tensor(toFloat64(given)), to).data)).toBe(
        -1,
      );
    }
  }
});

test("to and from bool: whether it is not zero, and 0 or 1", () => {
  expect([...cast(tensor([0, -0, 0.5, Number.NaN, -2]), "bool").data]).toEqual([0, 0, 1, 1, 1]);
  expect([...cast(tensor([0n, 2n ** 63n - 1n]), "bool").data]).toEqual([0, 1]);
  expect([
    ...cast(
      tensor(
        [
          [0, 0],
          [0, 2],
          [1, 0],
        ],
        undefined,
        "complex64",
      ),
      "bool",
    ).data,
  ]).toEqual([0, 1, 1]);
  const flags = tensor(Uint8Array.of(0, 1, 2, 0), [2, 2], "bool");
  expect(toNested(cast(flags, "float16"))).toEqual([
    [0, 1],
    [1, 0],
  ]);
  expect(toNested(cast(flags, "int64"))).toEqual([
    [0n, 1n],
    [1n, 0n],
  ]);
  expect(toNested(cast(flags, "complex64"))).toEqual([
    [
      [0, 0],
      [1, 0],
    ],
    [
      [1, 0],
      [0, 0],
    ],
  ]);
});

test("a NaN keeps its sign when it becomes complex", () => {
  const single = new Float32Array(Uint32Array.of(0xffc00000, 0x7fc00000).buffer);
  const given: Tensor[] = [
    tensor(single),
    tensor(Uint16Array.of(0xfe00, 0x7e00), [2], "float16"),
    tensor(Uint16Array.of(0xffc0, 0x7fc0), [2], "bfloat16"),
  ];
  for (const numbers of given) {
    const { data } = cast(numbers, "complex64");
    expect([...new Uint32Array(data.buffer)]).toEqual([0xffc00000, 0, 0x7fc00000, 0]);
    const double = new Uint32Array(cast(numbers, "complex128").data.buffer);
    expect([...double]).toEqual([0, 0xfff80000, 0, 0, 0, 0x7ff80000, 0, 0]);
  }
});

test("real numbers become complex, complex ones never real", async () => {
  expect(toNested(cast(tensor([1.5, -2]), "complex64"))).toEqual([
    [1.5, 0],
    [-2, 0],
  ]);
  const complex = tensor([[1, 2]], undefined, "complex128");
  expect(toNested(cast(complex, "complex64"))).toEqual([[1, 2]]);
  expect(toNested(cast(cast(complex, "complex64"), "complex128"))).toEqual([[1, 2]]);
  for (const dtype of ["float64", "float16", "int32"] as const) {
    await expectError(() => cast(complex, dtype), {
      code: "invalid-argument",
      names: ["complex128", dtype, "imaginary"],
    });
  }
});

test("the result is a tensor of its own, the shape a copy", () => {
  const t = tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
  for (const dtype of ["float32", "float64"] as const) {
    const made = cast(t, dtype);
    expect(made).toEqual({ dtype, shape: [2, 2], data: made.data });
    expect(made.data.buffer).not.toBe(t.data.buffer);
    expect(made.shape).not.toBe(t.shape);
  }
  expect(cast(zeros([0, 5], "int8"), "bfloat16")).toEqual(zeros([0, 5], "bfloat16"));
});

test("float6 is copied, never converted", async () => {
  const t = tensor(Uint8Array.of(1, 2, 3), [4], "float6_e2m3fn");
  expect(cast(t, "float6_e2m3fn")).toEqual(t);
  await expectError(() => cast(t, "float32"), { code: "unsupported", names: ["float6_e2m3fn"] });
  await expectError(() => cast(zeros([4]), "float6_e3m2fn"), {
    code: "unsupported",
    names: ["float6_e3m2fn"],
  });
});

test("float4 takes an even number of elements", async () => {
  await expectError(() => cast(tensor([1, 2, 3]), "float4_e2m1fn"), {
    code: "invalid-shape",
    names: ["3"],
  });
  expect([...toFloat32(cast(tensor([1, -6]), "float4_e2m1fn"))]).toEqual([1, -6]);
});

test("an unknown dtype is refused", async () => {
  const cases: string[] = ["string", "f4", "__proto__", ""];
  for (const dtype of cases) {
    await expectError(() => Reflect.apply(cast, undefined, [zeros([1]), dtype]), {
      code: "invalid-dtype",
    });
  }
  await expectError(() => Reflect.apply(cast, undefined, [zeros([1])]), { code: "invalid-dtype" });
});
