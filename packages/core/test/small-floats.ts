import { type DType, type TensorOf, tensor } from "@tensorjar/core";

export const smallFloats = [
  "float16",
  "bfloat16",
  "float8_e4m3fn",
  "float8_e5m2",
  "float8_e8m0fnu",
  "float8_e4m3fnuz",
  "float8_e5m2fnuz",
  "float4_e2m1fn",
] as const;
export type SmallFloat = (typeof smallFloats)[number];

/** Every code of a small float, in order. */
export function everyCode<D extends SmallFloat>(dtype: D): TensorOf<D>;
export function everyCode(dtype: SmallFloat): TensorOf<DType> {
  if (dtype === "float16" || dtype === "bfloat16") {
    return tensor(
      Uint16Array.from({ length: 65536 }, (_, code) => code),
      undefined,
      dtype,
    );
  }
  if (dtype === "float4_e2m1fn") {
    return tensor(
      Uint8Array.from({ length: 8 }, (_, i) => (2 * i) | ((2 * i + 1) << 4)),
      undefined,
      dtype,
    );
  }
  return tensor(
    Uint8Array.from({ length: 256 }, (_, code) => code),
    undefined,
    dtype,
  );
}

/** The first index at which two arrays differ in their bits, -1 for equal ones; quicker for long arrays than `toEqual`. */
export function firstDifference(a: ArrayBufferView, b: ArrayBufferView): number {
  if (a.byteLength !== b.byteLength) return Math.min(a.byteLength, b.byteLength);
  const [x, y] = [a, b].map(
    (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength),
  );
  return x?.findIndex((byte, i) => byte !== y?.[i]) ?? -1;
}

/** Bits of each number, those of a NaN made the same for every payload. */
export function plainBits(numbers: Float32Array): Uint32Array {
  const bits = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length).slice();
  for (let i = 0; i < bits.length; i++) {
    if (Number.isNaN(numbers[i])) bits[i] = ((bits[i] ?? 0) & 0x80000000) | 0x7fc00000;
  }
  return bits;
}

/** Layouts as their papers have them, told apart from the code under test: exponent and mantissa bits, and the bias. */
const layouts: {
  readonly [F in SmallFloat]: readonly [exponent: number, mantissa: number, bias: number];
} = {
  float16: [5, 10, 15],
  bfloat16: [8, 7, 127],
  float8_e4m3fn: [4, 3, 7],
  float8_e5m2: [5, 2, 15],
  float8_e8m0fnu: [8, 0, 127],
  float8_e4m3fnuz: [4, 3, 8],
  float8_e5m2fnuz: [5, 2, 16],
  float4_e2m1fn: [2, 1, 1],
};

/** The finite numbers from 0 up (2^-127 up for float8_e8m0fnu), each at the index of its code. */
export function finiteNumbers(dtype: SmallFloat): number[] {
  const [exponent, mantissa, bias] = layouts[dtype];
  const values: number[] = [];
  for (let code = 0; code < 2 ** (exponent + mantissa); code++) {
    const power = Math.floor(code / 2 ** mantissa);
    const fraction = code % 2 ** mantissa;
    values.push(
      dtype === "float8_e8m0fnu"
        ? 2 ** (power - bias)
        : power === 0
          ? fraction * 2 ** (1 - bias - mantissa)
          : (2 ** mantissa + fraction) * 2 ** (power - bias - mantissa),
    );
  }
  // Infinity and NaN take the last exponent in IEEE's layout, the last code in the "fn" ones without infinity.
  if (dtype === "float16" || dtype === "bfloat16" || dtype === "float8_e5m2") {
    values.length -= 2 ** mantissa;
  } else if (dtype === "float8_e4m3fn" || dtype === "float8_e8m0fnu") values.length -= 1;
  return values;
}
