import { readFile } from "node:fs/promises";
import { cast, type DType, type TensorOf, tensor, toFloat32, toFloat64 } from "@tensorjar/core";
import { dataConstructor } from "@tensorjar/core/codec";
import { beforeAll, expect, test } from "vitest";
import { hashes } from "../packages/core/test/golden-numbers.js";
import { everyCode, smallFloats } from "../packages/core/test/small-floats.js";
import { expectError } from "../tooling/testing.js";
import { interop } from "./python.js";

const ints = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"] as const;

interop("numbers of every dtype", "core", (python) => {
  let counts: { float32: number; float64: number; hashes: unknown };
  beforeAll(async () => {
    counts = JSON.parse(await python.run("numbers.py"));
  });

  const bytes = async (name: string): Promise<Uint8Array> =>
    new Uint8Array(await readFile(python.path(`${name}.bin`)));

  /** A file of elements of `dtype`, float4 with one code a byte. */
  async function saved<D extends DType>(name: string, dtype: D): Promise<TensorOf<D>> {
    const data = await bytes(name);
    const Data = dataConstructor(dtype);
    const own = dtype === "float4_e2m1fn" ? packed(data) : data;
    return tensor(new Data(own.buffer), undefined, dtype);
  }

  test("the hashes that core's own tests know are still those of ml_dtypes", () => {
    expect(hashes).toEqual(counts.hashes);
  });

  for (const dtype of smallFloats) {
    test(`every ${dtype} is the float32 and the float64 that NumPy has`, async () => {
      const all = everyCode(dtype);
      expectSame(toFloat32(all), (await saved(`${dtype}-as-float32`, "float32")).data);
      expectSame(toFloat64(all), (await saved(`${dtype}-as-float64`, "float64")).data);
      expectSame(cast(all, "float64").data, toFloat64(all));
    });

    for (const source of ["float32", "float64"] as const) {
      test(`${source} to ${dtype} is rounded once, as ml_dtypes rounds`, async () => {
        expect(counts[source]).toBeGreaterThan(1_000_000);
        const inputs = await saved(source, source);
        expect(inputs.shape).toEqual([counts[source]]);
        expectCodes(cast(inputs, dtype), await saved(`${source}-to-${dtype}`, dtype), inputs.data);
      });
    }

    test(`every ${dtype} as another small float`, async () => {
      for (const other of smallFloats) {
        const all = everyCode(dtype);
        if (other === dtype) expect(cast(all, other).data).toEqual(all.data);
        else
          expectCodes(cast(all, other), await saved(`${dtype}-to-${other}`, other), toFloat64(all));
      }
    });

    test(`every ${dtype} as bool`, async () => {
      const expected = await bytes(`${dtype}-to-bool`);
      expect(cast(everyCode(dtype), "bool").data).toEqual(expected);
    });
  }

  test("float32 to float64 and back", async () => {
    const [singles, doubles] = [
      await saved("float32", "float32"),
      await saved("float64", "float64"),
    ];
    expectSame(cast(singles, "float64").data, (await saved("float32-to-float64", "float64")).data);
    expectSame(cast(doubles, "float32").data, (await saved("float64-to-float32", "float32")).data);
    expectSame(toFloat32(doubles), cast(doubles, "float32").data);
  });

  for (const dtype of ints) {
    test(`${dtype} to floats, complex numbers and bool`, async () => {
      const inputs = await saved(dtype, dtype);
      for (const other of [
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "bool",
      ] as const) {
        expect(cast(inputs, other).data).toEqual((await saved(`${dtype}-to-${other}`, other)).data);
      }
      expect(toFloat32(inputs)).toEqual(cast(inputs, "float32").data);
      expect(toFloat64(inputs)).toEqual(cast(inputs, "float64").data);
    });

    test(`${dtype} to other integers: exact, or refused`, async () => {
      const inputs = await saved(dtype, dtype);
      for (const other of ints) {
        const fits = await bytes(`${dtype}-fits-${other}`);
        await expectIntegers(
          inputs,
          other,
          fits,
          (await saved(`${dtype}-to-${other}`, other)).data,
        );
      }
    });

    for (const source of ["float32", "float64"] as const) {
      test(`${source} to ${dtype}: truncated, or refused`, async () => {
        const inputs = await saved(`${source}-for-${dtype}`, source);
        const fits = await bytes(`${source}-for-${dtype}-fits`);
        await expectIntegers(
          inputs,
          dtype,
          fits,
          (await saved(`${source}-for-${dtype}-cast`, dtype)).data,
        );
      });
    }
  }

  test("complex numbers to complex64 and bool", async () => {
    const inputs = await saved("complex128", "complex128");
    expectSame(
      cast(inputs, "complex64").data,
      (await saved("complex128-to-complex64", "complex64")).data,
    );
    expect(cast(inputs, "bool").data).toEqual(await bytes("complex128-to-bool"));
  });
});

/** Codes two a byte, the first in the low nibble. */
function packed(codes: Uint8Array): Uint8Array {
  return Uint8Array.from(
    { length: codes.length / 2 },
    (_, i) => (codes[2 * i] ?? 0) | ((codes[2 * i + 1] ?? 0) << 4),
  );
}

/** Expects the same bits, of a NaN only that it is one and its sign. */
function expectSame<T extends Float32Array | Float64Array>(actual: T, expected: T): void {
  expect(actual.length).toBe(expected.length);
  const words = actual.BYTES_PER_ELEMENT / 4;
  const [a, b] = [actual, expected].map(
    (data) => new Uint32Array(data.buffer, data.byteOffset, data.length * words),
  );
  const wrong: string[] = [];
  for (let i = 0; i < expected.length && wrong.length < 5; i++) {
    const top = i * words + words - 1;
    const [x, y] = [a?.[top] ?? 0, b?.[top] ?? 0];
    const same = Number.isNaN(expected[i])
      ? Number.isNaN(actual[i]) && x >>> 31 === y >>> 31
      : x === y && a?.[i * words] === b?.[i * words];
    if (!same)
      wrong.push(
        `${i}: ${actual[i]} (${x.toString(16)}), expected ${expected[i]} (${y.toString(16)})`,
      );
  }
  expect(wrong).toEqual([]);
}

/** Expects the same codes; of a float16 NaN only that it is one and its sign. */
function expectCodes(
  actual: TensorOf<DType>,
  expected: TensorOf<DType>,
  inputs: Float32Array | Float64Array,
): void {
  expect(actual.data.length).toBe(expected.data.length);
  const perInput = actual.dtype === "float4_e2m1fn" ? 2 : 1;
  const plain = (code: number | bigint | undefined): number => {
    const value = Number(code);
    return actual.dtype === "float16" && (value & 0x7fff) > 0x7c00
      ? (value & 0x8000) | 0x7e00
      : value;
  };
  const wrong: string[] = [];
  for (let i = 0; i < expected.data.length && wrong.length < 5; i++) {
    const [a, b] = [plain(actual.data[i]), plain(expected.data[i])];
    if (a !== b)
      wrong.push(`${inputs[perInput * i]}: ${a.toString(16)}, expected ${b.toString(16)}`);
  }
  expect(wrong).toEqual([]);
}

/** Expects the numbers that fit to be cast, and of the others the first to be named and many to be refused. */
async function expectIntegers(
  inputs: TensorOf<DType>,
  dtype: (typeof ints)[number],
  fits: Uint8Array,
  expected: ArrayLike<number | bigint>,
): Promise<void> {
  const first = fits.indexOf(0);
  if (first !== -1) {
    const names = [`\\(${first},\\)`, dtype];
    await expectError(() => cast(inputs, dtype), { code: "invalid-argument", names });
  }
  const { data } = inputs;
  for (let i = 0, refused = 0; i < fits.length && refused < 100; i++) {
    if (fits[i] === 1) continue;
    const one = { ...inputs, shape: [1], data: data.subarray(i, i + 1) };
    await expectError(() => cast(one, dtype), { code: "invalid-argument" });
    refused++;
  }
  const fitting = data.slice();
  let count = 0;
  for (let i = 0; i < fits.length; i++) if (fits[i] === 1) fitting[count++] = data[i] as never; // of its own array
  const made = cast({ ...inputs, shape: [count], data: fitting.subarray(0, count) }, dtype);
  expect([...made.data]).toEqual(Array.from(expected).filter((_value, i) => fits[i] === 1));
}
