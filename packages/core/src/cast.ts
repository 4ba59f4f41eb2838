import { checkedTensor, checkNumbers } from "./convert.js";
import { byteLength, type DType, dtypeInfo, shapeText } from "./dtype.js";
import { TensorjarError } from "./error.js";
import { readInt64 } from "./int64.js";
import { type IntegerDType, integerRange, isIntegerDType } from "./integer-range.js";
import { eachBlock, numberCount, readFloat32, readFloat64 } from "./read-numbers.js";
import { isSmallFloat } from "./small-float.js";
import { storeFloat32, storeFloat64 } from "./store-numbers.js";
import {
  type AnyArray,
  allocate,
  type Tensor,
  type TensorOf,
  tensorBytes,
  tensorFromBytes,
} from "./tensor.js";

/**
 * The numbers of `t` in another dtype, in memory of their own (also where the dtype is the same).
 * To floats: one rounding to nearest even; past the range as NumPy and ml_dtypes do (infinity; NaN for
 * float8_e4m3fn and the fnuz types, which have no infinity; the largest number for float4; NaN for what
 * float8_e8m0fnu cannot hold: zero, negatives), a NaN keeps its sign. To integers: truncated.
 * To bool: whether it is not zero. Real to complex: with 0 as imaginary part.
 * Throws `invalid-argument`, naming the first element, for a number that an integer dtype does not hold; for complex
 * numbers as real ones, which would lose a part; `unsupported` for the float6s; `invalid-dtype`; `not-found` for `undefined`.
 */
export function cast<D extends DType>(t: AnyArray, dtype: D): TensorOf<D>;
export function cast(t: AnyArray, dtype: DType): Tensor {
  const { components, kind } = dtypeInfo(dtype);
  const from = checkedTensor(t);
  if (from.dtype !== dtype) {
    checkNumbers(from.dtype);
    checkNumbers(dtype);
  }
  const complex = dtypeInfo(from.dtype).components === 2;
  if (complex && components === 1 && kind !== "bool") {
    throw new TensorjarError(
      "invalid-argument",
      `${from.dtype} as ${dtype} would lose the imaginary parts`,
      {
        expected: "complex64 or complex128",
        actual: dtype,
        hint: "toFloat64 gives [re, im] pairs to choose from",
      },
    );
  }
  const made = tensorFromBytes(
    dtype,
    [...from.shape],
    allocate(byteLength(dtype, from.shape)),
  ) as Tensor; // a union over the dtypes
  if (from.dtype === dtype) tensorBytes(made).set(tensorBytes(from));
  else if (dtype === "bool") toBool(from, made.data as Uint8Array);
  else if (is64(from) && is64(made)) swapSign(from, made);
  else if (isIntegerDType(dtype)) toIntegers(from, made, dtype);
  else if (components === 2 && !complex) toComplex(from, made);
  else toFloats(from, made);
  return made;
}

function is64(tensor: Tensor): tensor is Tensor<"int64" | "uint64"> {
  return tensor.dtype === "int64" || tensor.dtype === "uint64";
}

function isDouble(tensor: Tensor): tensor is Tensor<"float64" | "complex128"> {
  return tensor.dtype === "float64" || tensor.dtype === "complex128";
}

/** Numbers in float64, made so that the one rounding is that to the dtype of `made`. */
function exactly(from: Tensor, start: number, to: Float64Array, made: Tensor): void {
  if (is64(from) && !isDouble(made)) readInt64(from, start, to, "odd");
  else readFloat64(from, start, to);
}

function toFloats(from: Tensor, made: Tensor): void {
  if (made.dtype === "float32" || made.dtype === "complex64") readFloat32(from, 0, made.data);
  else if (isDouble(made)) readFloat64(from, 0, made.data);
  else if (isSmallFloat(from.dtype) || from.dtype === "float32") {
    eachBlock(numberCount(from), Float32Array, (numbers, start) => {
      readFloat32(from, start, numbers);
      storeFloat32(made, start, numbers);
    });
  } else {
    eachBlock(numberCount(from), Float64Array, (numbers, start) => {
      exactly(from, start, numbers, made);
      storeFloat64(made, start, numbers);
    });
  }
}

function toComplex(from: Tensor, made: Tensor): void {
  eachBlock(numberCount(from), Float64Array, (numbers, start) => {
    exactly(from, start, numbers, made);
    const pairs = new Float64Array(2 * numbers.length);
    for (let i = 0; i < numbers.length; i++) pairs[2 * i] = numbers[i] as number; // within the length
    storeFloat64(made, 2 * start, pairs);
  });
}

function toBool(from: Tensor, bytes: Uint8Array): void {
  const perElement = dtypeInfo(from.dtype).components;
  eachBlock(numberCount(from), Float64Array, (numbers, start) => {
    readFloat64(from, start, numbers);
    for (let i = 0; i < numbers.length; i++) {
      if (numbers[i] !== 0) bytes[Math.floor((start + i) / perElement)] = 1;
    }
  });
}

function toIntegers(from: Tensor, made: Tensor, dtype: IntegerDType): void {
  const range = integerRange(dtype);
  const min = Number(range[0]);
  const max = Number(range[1]); // 2^63 or 2^64 for the 64-bit dtypes, which they do not hold
  const wide = is64(made);
  const words = wide ? new Uint32Array(made.data.buffer) : undefined;
  eachBlock(numberCount(from), Float64Array, (numbers, start) => {
    readFloat64(from, start, numbers);
    for (let i = 0; i < numbers.length; i++) {
      const value = Math.trunc(numbers[i] as number); // within the length
      const fits = value >= min && (wide ? value < max : value <= max);
      if (!fits) throw outOfRange(from, start + i, dtype);
      if (words !== undefined) {
        const high = Math.floor(value / 0x100000000);
        words[2 * (start + i)] = value - high * 0x100000000;
        words[2 * (start + i) + 1] = high;
      } else made.data[start + i] = value;
    }
  });
}

/** int64 as uint64 and back: the same bits, as long as the sign bit is clear. */
function swapSign(from: Tensor<"int64" | "uint64">, made: Tensor<"int64" | "uint64">): void {
  const words = new Int32Array(made.data.buffer);
  tensorBytes(made).set(tensorBytes(from));
  for (let i = 0; i < made.data.length; i++) {
    if ((words[2 * i + 1] as number) < 0) throw outOfRange(from, i, made.dtype);
  }
}

function outOfRange(from: Tensor, index: number, dtype: IntegerDType): TensorjarError {
  const one = new Float64Array(1);
  if (!is64(from)) readFloat64(from, index, one);
  const value = is64(from) ? from.data[index] : one[0];
  // All digits of what JavaScript prints without an exponent, to stand beside the range.
  const exact = typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 1e21;
  const shown = exact ? BigInt(value) : value;
  const [min, max] = integerRange(dtype);
  return new TensorjarError(
    "invalid-argument",
    `element ${shapeText(indices(index, from.shape))} of the ${from.dtype} tensor is ${shown}, which ${dtype} does not hold`,
    { actual: value, hint: `it holds integers from ${min} to ${max}` },
  );
}

/** The index along every axis of a C-ordered array. */
function indices(index: number, shape: readonly number[]): number[] {
  let rest = index;
  return [...shape]
    .reverse()
    .map((size) => {
      const along = rest % size;
      rest = Math.floor(rest / size);
      return along;
    })
    .reverse();
}
