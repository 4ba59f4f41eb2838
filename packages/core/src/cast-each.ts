import { checkNumbers } from "./convert.js";
import { byteLength, type DType, dtypeInfo, shapeText } from "./dtype.js";
import { TensorjarError } from "./error.js";
import { bitsOf, eachBlock, numberCount, readFloat64, storeFloat64 } from "./numbers.js";
import { allocate, type Tensor, type TensorOf, tensorBytes, tensorFromBytes } from "./tensor.js";

/**
 * `cast` of a tensor that is checked, without its fast ways, for what must stay small: numbers pass as float64, one by one.
 * `store` converts real or complex numbers to floats of the same number of components.
 */
export function castEach<D extends DType>(
  from: Tensor,
  dtype: D,
  store?: (from: Tensor, made: Tensor) => void,
): TensorOf<D>;
export function castEach(from: Tensor, dtype: DType, store = storeFloats): Tensor {
  const { components, kind } = dtypeInfo(dtype);
  if (from.dtype !== dtype) {
    checkNumbers(from.dtype);
    checkNumbers(dtype);
  }
  const given = dtypeInfo(from.dtype).components;
  if (given > components && kind !== "bool") {
    throw new TensorjarError(
      "invalid-argument",
      `${from.dtype} as ${dtype} would lose the imaginary parts`,
      { actual: dtype, hint: "toFloat64 gives [re, im] pairs to choose from" },
    );
  }
  const bytes = allocate(byteLength(dtype, from.shape));
  const made = tensorFromBytes(dtype, [...from.shape], bytes) as Tensor; // a union over the dtypes
  if (from.dtype === dtype) bytes.set(tensorBytes(from));
  else if (kind === "bool") storeBooleans(from, bytes);
  else if (is64(from) && is64(made)) {
    bytes.set(tensorBytes(from));
    const wrong = made.data.findIndex((value, i) => value !== from.data[i]);
    if (wrong >= 0) throw outOfRange(from, wrong, from.data[wrong], dtype);
  } else if (kind.endsWith("int")) storeIntegers(from, made);
  else (given < components ? storeFloats : store)(from, made);
  return made;
}

function is64(tensor: Tensor): tensor is Tensor<"int64" | "uint64"> {
  return /int64/.test(tensor.dtype);
}

/** Numbers as floats; of real ones as complex, the imaginary parts are 0. */
export function storeFloats(from: Tensor, made: Tensor): void {
  const step = dtypeInfo(made.dtype).components / dtypeInfo(from.dtype).components;
  eachBlock(numberCount(from), Float64Array, (numbers, start) => {
    readFloat64(from, start, numbers, made.data.BYTES_PER_ELEMENT < 8);
    let parts = numbers;
    if (step === 2) {
      parts = new Float64Array(2 * numbers.length);
      const [words, into] = [bitsOf(numbers), bitsOf(parts)]; // a NaN that is moved as a number may lose its sign
      for (let i = 0; i < words.length; i++) into[2 * i - (i & 1)] = words[i] as number; // within the length
    }
    storeFloat64(made, step * start, parts);
  });
}

function storeBooleans(from: Tensor, bytes: Uint8Array): void {
  const { components } = dtypeInfo(from.dtype);
  eachBlock(numberCount(from), Float64Array, (numbers, start) => {
    readFloat64(from, start, numbers);
    for (let i = 0; i < numbers.length; i++) {
      if (numbers[i] !== 0) bytes[Math.floor((start + i) / components)] = 1;
    }
  });
}

function storeIntegers(from: Tensor, made: Tensor): void {
  const [min, end] = integerRange(made.dtype);
  const words = is64(made) ? new Uint32Array(made.data.buffer) : undefined;
  eachBlock(numberCount(from), Float64Array, (numbers, start) => {
    readFloat64(from, start, numbers);
    for (let i = 0; i < numbers.length; i++) {
      const at = start + i;
      const value = Math.trunc(numbers[i] as number); // within the length
      if (!(value >= min && value < end))
        throw outOfRange(from, at, is64(from) ? from.data[at] : numbers[i], made.dtype);
      if (words !== undefined) {
        const high = Math.floor(value / 0x100000000);
        words[2 * at] = value - high * 0x100000000;
        words[2 * at + 1] = high;
      } else made.data[at] = value;
    }
  });
}

/** The smallest integer of a dtype, and one more than the largest. */
function integerRange(dtype: DType): readonly [min: number, end: number] {
  const { bits, kind } = dtypeInfo(dtype);
  return kind === "uint" ? [0, 2 ** bits] : [-(2 ** (bits - 1)), 2 ** (bits - 1)];
}

function outOfRange(
  from: Tensor,
  index: number,
  value: number | bigint | undefined,
  dtype: DType,
): TensorjarError {
  // All digits of what JavaScript prints without an exponent, to stand beside the range.
  const exact = typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 1e21;
  const [min, end] = integerRange(dtype);
  const indices: number[] = [];
  let rest = index;
  for (const size of [...from.shape].reverse()) {
    indices.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return new TensorjarError(
    "invalid-argument",
    `element ${shapeText(indices)} of the ${from.dtype} tensor is ${exact ? BigInt(value) : value}, which ${dtype} does not hold`,
    { actual: value, hint: `it holds integers from ${BigInt(min)} to ${BigInt(end) - 1n}` },
  );
}
