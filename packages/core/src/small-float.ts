import type { DType } from "./dtype.js";

/** The floats narrower than 32 bits whose bits are fixed; of the float6s no writer fixes the packing. */
export type SmallFloat = Extract<
  DType,
  "float16" | "bfloat16" | `float8_${string}` | `float4_${string}`
>;

/** How a narrow float is laid out. Codes are without the sign bit, except those of NaN. */
interface Format {
  readonly mantissaBits: number;
  readonly bias: number;
  readonly sign: number;
  /** The code of the largest finite number. */
  readonly max: number;
  /** What numbers past `max` and infinities become: infinity, NaN, or `max` itself. */
  readonly overflow: number;
  readonly nan: number;
  readonly negativeNan: number;
  /** Whether -0 exists. */
  readonly negativeZero: boolean;
}

const ieee = (
  mantissaBits: number,
  bias: number,
  sign: number,
  infinity: number,
  nan: number,
): Format => ({
  mantissaBits,
  bias,
  sign,
  max: infinity - 1,
  overflow: infinity,
  nan,
  negativeNan: nan | sign,
  negativeZero: true,
});

/** One NaN where -0 would be, no infinities. */
const fnuz = (mantissaBits: number, bias: number): Format => ({
  mantissaBits,
  bias,
  sign: 0x80,
  max: 0x7f,
  overflow: 0x80,
  nan: 0x80,
  negativeNan: 0x80,
  negativeZero: false,
});

/** Rounding, overflow and NaNs as ml_dtypes 0.6 has them; float8_e8m0fnu, which has neither sign nor mantissa, apart. */
const formats: { readonly [F in Exclude<SmallFloat, "float8_e8m0fnu">]: Format } = {
  float16: ieee(10, 15, 0x8000, 0x7c00, 0x7e00),
  bfloat16: ieee(7, 127, 0x8000, 0x7f80, 0x7fc0),
  float8_e5m2: ieee(2, 15, 0x80, 0x7c, 0x7e),
  float8_e4m3fn: ieee(3, 7, 0x80, 0x7f, 0x7f),
  float8_e4m3fnuz: fnuz(3, 8),
  float8_e5m2fnuz: fnuz(2, 16),
  // No NaN and no infinity: numbers saturate, and a NaN becomes a zero of the other sign, as ml_dtypes makes it.
  float4_e2m1fn: { ...ieee(1, 1, 8, 8, 8), overflow: 7, negativeNan: 0 },
};

/** Whether numbers of this dtype are encoded here. */
export function isSmallFloat(dtype: DType): dtype is SmallFloat {
  return dtype === "float8_e8m0fnu" || Object.hasOwn(formats, dtype);
}

/** The code of a float32 number given as bits, rounded to nearest even. */
export function encodeSmall(dtype: SmallFloat, bits: number): number {
  if (dtype === "float8_e8m0fnu") return encodeE8m0(bits >>> 0);
  const { mantissaBits, bias, sign, max, overflow, nan, negativeNan, negativeZero } =
    formats[dtype];
  const magnitude = bits & 0x7fffffff;
  const signBit = bits < 0 || bits > 0x7fffffff ? sign : 0;
  if (magnitude > 0x7f800000) return signBit === 0 ? nan : negativeNan;
  const shift = 23 - mantissaBits;
  const smallestExponent = 128 - bias; // of a normal number, as float32 has it
  let code: number;
  if (magnitude === 0x7f800000) {
    code = overflow;
  } else if (magnitude >>> 23 >= smallestExponent || bias === 127) {
    code = roundShift(magnitude, shift) - ((127 - bias) << mantissaBits);
  } else {
    const drop = shift + smallestExponent - (magnitude >>> 23);
    code = drop > 24 ? 0 : roundShift((magnitude & 0x7fffff) | 0x800000, drop);
  }
  if (code > max) code = overflow;
  return code === 0 && !negativeZero ? 0 : code | signBit;
}

/** `value` / 2^`places`, to nearest even. */
function roundShift(value: number, places: number): number {
  return (value + (1 << (places - 1)) - 1 + ((value >>> places) & 1)) >>> places;
}

/**
 * The nearest power of two, from halfway on, and from anything past 2^-127, the upper one, as ml_dtypes has it;
 * NaN (0xff) for what is not above zero and for what would be past 2^127.
 */
function encodeE8m0(bits: number): number {
  if (bits === 0 || bits >= 0x7f800000) return 0xff;
  if (bits < 0x800000) return bits <= 0x400000 ? 0 : 1;
  return (bits + 0x400000) >>> 23;
}

/** The float32 bits of one code. */
export function decodeSmall(dtype: SmallFloat, code: number): number {
  if (dtype === "float8_e8m0fnu") {
    return code === 0xff ? 0x7fc00000 : code === 0 ? 0x400000 : code << 23;
  }
  const { mantissaBits, bias, sign, max, overflow, nan } = formats[dtype];
  const magnitude = code & (sign - 1);
  const signBits = (code & sign) === 0 ? 0 : 0x80000000;
  if (code === nan && code === sign && dtype !== "float4_e2m1fn") return 0xffc00000;
  if (magnitude > max)
    return (
      ((magnitude === overflow && overflow !== nan ? 0x7f800000 : 0x7fc00000) | signBits) >>> 0
    );
  if (magnitude === 0) return signBits;
  const shift = 23 - mantissaBits;
  if (magnitude >>> mantissaBits !== 0) {
    return ((magnitude << shift) + ((127 - bias) << 23) + signBits) >>> 0;
  }
  if (bias === 127) return ((magnitude << shift) | signBits) >>> 0;
  const zeros = Math.clz32(magnitude) - 8; // places up to where the implicit bit stands
  const exponent = 128 - bias + shift - zeros;
  return ((exponent << 23) + ((magnitude << zeros) & 0x7fffff) + signBits) >>> 0;
}
