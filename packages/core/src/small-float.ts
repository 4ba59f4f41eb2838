import type { DType } from "./dtype.js";

/** The floats narrower than 32 bits whose bits are fixed; of the float6s no writer fixes the packing. */
export type SmallFloat = Extract<
  DType,
  "float16" | "bfloat16" | `float8_${string}` | `float4_${string}`
>;

/** How a narrow float is laid out. Codes are without the sign bit, except those of NaN. */
export interface Format {
  readonly mantissa: number;
  readonly bias: number;
  readonly sign: number;
  /** The code of the largest finite number. */
  readonly max: number;
  /** What numbers past `max` and infinities become: infinity, NaN, or `max` itself. */
  readonly overflow: number;
  readonly nan: number;
  readonly negativeNan: number;
}

const format = (
  mantissa: number,
  bias: number,
  sign: number,
  max: number,
  overflow: number,
  nan: number,
  negativeNan: number = nan | sign,
): Format => ({ mantissa, bias, sign, max, overflow, nan, negativeNan });

/** Rounding, overflow and NaNs as ml_dtypes 0.6 has them. */
export const formats: { readonly [F in SmallFloat]: Format } = {
  float16: format(10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00),
  bfloat16: format(7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0),
  float8_e5m2: format(2, 15, 0x80, 0x7b, 0x7c, 0x7e),
  float8_e4m3fn: format(3, 7, 0x80, 0x7e, 0x7f, 0x7f),
  // One NaN where -0 would be, no infinities.
  float8_e4m3fnuz: format(3, 8, 0x80, 0x7f, 0x80, 0x80),
  float8_e5m2fnuz: format(2, 16, 0x80, 0x7f, 0x80, 0x80),
  // Powers of two alone, the smallest of which has the code 0.
  float8_e8m0fnu: format(0, 127, 0x100, 0xfe, 0xff, 0xff, 0xff),
  // No NaN and no infinity: numbers saturate, and a NaN becomes a zero of the other sign, as ml_dtypes makes it.
  float4_e2m1fn: format(1, 1, 8, 7, 7, 8, 0),
};

/** Whether numbers of this dtype are encoded here. */
export function isSmallFloat(dtype: DType): dtype is SmallFloat {
  return Object.hasOwn(formats, dtype);
}

/**
 * The code of a number, rounded to nearest even. The number is given as the upper word of a float64, with the last bit
 * set where the lower word is not zero: that is more precise than any of these types, so it rounds as the whole would.
 */
export function encodeSmall(
  { mantissa, bias, sign, max, overflow, nan, negativeNan }: Format,
  upper: number,
): number {
  if (mantissa === 0) return encodePower(upper >>> 0);
  const magnitude = upper & 0x7fffffff;
  const signBit = (upper >>> Math.clz32(sign)) & sign;
  if (magnitude > 0x7ff00000) return signBit === 0 ? nan : negativeNan;
  const exponent = magnitude >>> 20;
  const lacking = 1024 - bias - exponent; // of the exponent of the smallest normal number
  let code =
    lacking <= 0
      ? roundShift(magnitude, 20 - mantissa) - ((1023 - bias) << mantissa)
      : lacking > mantissa + 1
        ? 0
        : roundShift((magnitude & 0xfffff) | 0x100000, 20 - mantissa + lacking);
  if (code > max) code = overflow;
  return code === 0 && nan === negativeNan ? 0 : code | signBit;
}

/** `value` / 2^`places`, to nearest even. */
function roundShift(value: number, places: number): number {
  return (value + (1 << (places - 1)) - 1 + ((value >>> places) & 1)) >>> places;
}

/**
 * The nearest power of two, from halfway on, and from anything past 2^-127, the upper one, as ml_dtypes has it;
 * NaN (0xff) for what is not above zero and for what would be past 2^127.
 */
function encodePower(upper: number): number {
  if (upper === 0 || upper >= 0x7ff00000) return 0xff;
  if (upper <= 0x38100000) return upper <= 0x38000000 ? 0 : 1;
  return Math.min(((upper + 0x80000) >>> 20) - 896, 0xff);
}

/** The number of a code as the upper word of a float64, whose lower word is zero. */
export function decodeSmall(
  { mantissa, bias, sign, max, overflow, nan, negativeNan }: Format,
  code: number,
): number {
  const magnitude = code & (sign - 1);
  const signBit = (code & sign) << Math.clz32(sign); // no branch, which random signs would make slow
  if (code === nan && nan === negativeNan && mantissa > 0) return -0x80000 | 0;
  if (magnitude > max)
    return (magnitude === overflow && overflow !== nan ? 0x7ff00000 : 0x7ff80000) | signBit;
  const shift = 20 - mantissa;
  if (magnitude >>> mantissa !== 0 || mantissa === 0)
    return ((magnitude << shift) + ((1023 - bias) << 20)) | signBit;
  if (magnitude === 0) return signBit;
  const zeros = Math.clz32(magnitude) - 11; // places up to where the implicit bit stands
  return (((1024 - bias + shift - zeros) << 20) + ((magnitude << zeros) & 0xfffff)) | signBit;
}
