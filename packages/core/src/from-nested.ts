import { checkNumbers } from "./convert.js";
import { byteLength, type DType, dtypeInfo, elementCount, shapeText } from "./dtype.js";
import { describe, TensorjarError } from "./error.js";
import { bigintToOdd } from "./int64.js";
import { type IntegerDType, integerRange, isIntegerDType } from "./integer-range.js";
import { numberCount, storeFloat64 } from "./numbers.js";
import { allocate, type Tensor, tensorFromBytes } from "./tensor.js";

/** NumPy's limit on the axes of an array. */
const maxAxes = 64;

/** The tensor of a bare value or of nested arrays; `tensor` says the rules. */
export function fromNested(
  data: unknown,
  shape: readonly number[] | undefined,
  given: DType | undefined,
): Tensor {
  const sizes: number[] = [];
  let first: unknown = data;
  while (Array.isArray(first)) {
    if (sizes.length > maxAxes) throw tooDeep();
    sizes.push(first.length);
    first = first[0];
  }
  const dtype = given ?? inferDType(first, sizes);
  checkNumbers(dtype);
  const own = elementSizes(dtype, sizes);
  const dims = shape === undefined ? own : [...shape];
  if (elementCount(dims) !== elementCount(own)) {
    throw new TensorjarError(
      "invalid-shape",
      `the shape ${shapeText(dims)} has ${elementCount(dims)} elements, the data of shape ${shapeText(own)} has ${elementCount(own)}`,
      { expected: dims, actual: own },
    );
  }
  const made = tensorFromBytes(dtype, dims, allocate(byteLength(dtype, dims))) as Tensor; // a union over the dtypes
  const kind = given === undefined ? typeof first : undefined;
  const store =
    dtype === "bool"
      ? booleans(made)
      : isIntegerDType(dtype)
        ? integers(made, dtype)
        : floats(made);
  eachValue(data, sizes, (value, path) => {
    if (kind !== undefined && typeof value !== kind && isValue(value)) {
      throw new TensorjarError(
        "invalid-argument",
        `the data mixes ${kind}s with ${typeof value}s (${pathText(path)})`,
        { expected: kind, actual: typeof value, hint: "name the dtype that they are to have" },
      );
    }
    if (!isValue(value)) throw notAValue(value, path);
    store.add(value, path);
  });
  store.end();
  return made;
}

type Value = number | bigint | boolean;

function isValue(value: unknown): value is Value {
  return typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
}

/** Takes the values of a tensor one after another. */
interface Store {
  add(value: Value, path: readonly number[]): void;
  end(): void;
}

function booleans(made: Tensor): Store {
  let i = 0;
  return {
    add(value, path) {
      const bit = Number(value);
      if (bit !== 0 && bit !== 1) throw doesNotFit(value, path, "bool", "true, false, 1 or 0");
      made.data[i++] = bit;
    },
    end() {},
  };
}

function integers(made: Tensor, dtype: IntegerDType): Store {
  const [min, max] = integerRange(dtype);
  const wide = dtype === "int64" || dtype === "uint64";
  let i = 0;
  return {
    add(value, path) {
      if (
        typeof value === "boolean" ||
        (typeof value === "number" && !Number.isInteger(value)) ||
        value < min ||
        value > max
      ) {
        throw doesNotFit(value, path, dtype, `an integer from ${min} to ${max}`);
      }
      made.data[i++] = wide ? BigInt(value) : Number(value);
    },
    end() {},
  };
}

function floats(made: Tensor): Store {
  const double = made.dtype === "float64" || made.dtype === "complex128";
  const numbers = double ? made.data : new Float64Array(allocate(8 * numberCount(made)).buffer);
  let i = 0;
  return {
    add(value, path) {
      if (typeof value === "boolean") throw doesNotFit(value, path, made.dtype, "a number");
      numbers[i++] =
        typeof value === "number" ? value : double ? Number(value) : bigintToOdd(value);
    },
    end() {
      if (!double) storeFloat64(made, 0, numbers);
    },
  };
}

function doesNotFit(
  value: Value,
  path: readonly number[],
  dtype: DType,
  expected: string,
): TensorjarError {
  return new TensorjarError(
    "invalid-argument",
    `${pathText(path)} is ${String(value).slice(0, 50)}, ${dtype} takes ${expected}`,
    { expected, actual: value },
  );
}

/** The shape of the elements: without the axis of `[re, im]` for complex dtypes. */
function elementSizes(dtype: DType, sizes: readonly number[]): readonly number[] {
  const complex = dtypeInfo(dtype).components === 2 && elementCount(sizes) !== 0;
  const own = complex ? sizes.slice(0, -1) : sizes;
  if (own.length > maxAxes) throw tooDeep();
  if (complex && sizes.at(-1) !== 2) {
    throw new TensorjarError(
      "invalid-shape",
      `${dtype} takes [re, im] for each element, the data has the shape ${shapeText(sizes)}`,
      { expected: 2, actual: sizes.at(-1) },
    );
  }
  return own;
}

function tooDeep(): TensorjarError {
  return new TensorjarError("invalid-shape", `the arrays are nested deeper than ${maxAxes} axes`, {
    expected: maxAxes,
  });
}

function inferDType(first: unknown, sizes: readonly number[]): DType {
  if (typeof first === "number") return "float64";
  if (typeof first === "bigint") return "int64";
  if (typeof first === "boolean") return "bool";
  if (sizes.at(-1) === 0) return "float64";
  throw notAValue(
    first,
    sizes.map(() => 0),
  );
}

/** Calls `visit` for every value in order. Throws `invalid-shape` where the arrays are ragged. */
function eachValue(
  data: unknown,
  sizes: readonly number[],
  visit: (value: unknown, path: readonly number[]) => void,
): void {
  const path: number[] = [];
  const walk = (node: unknown, axis: number): void => {
    const size = sizes[axis];
    const actual = Array.isArray(node) ? node.length : undefined;
    if (actual !== size) {
      throw new TensorjarError(
        "invalid-shape",
        `the data is ragged: ${pathText(path)} ${lengthText(actual)}, others before it ${lengthText(size)}`,
        { expected: size, actual },
      );
    }
    if (!Array.isArray(node)) {
      visit(node, path);
      return;
    }
    for (let i = 0; i < node.length; i++) {
      path[axis] = i;
      walk(node[i], axis + 1);
    }
    path.length = axis;
  };
  walk(data, 0);
}

function lengthText(length: number | undefined): string {
  return length === undefined ? "is no array" : `has ${length} elements`;
}

function pathText(path: readonly number[]): string {
  return path.length === 0 ? "the data" : `[${path.join("][")}]`;
}

function notAValue(value: unknown, path: readonly number[]): TensorjarError {
  return new TensorjarError(
    "invalid-argument",
    `${pathText(path)} is ${describe(value)}, not a number, bigint or boolean`,
    { actual: value, hint: "give a typed array, or nested arrays of numbers" },
  );
}
