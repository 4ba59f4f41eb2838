import { describe, tensorError } from "./error.js";

/** Element types by the names of NumPy and ml_dtypes. */
export type DType =
  | "bool"
  | "int8"
  | "uint8"
  | "int16"
  | "uint16"
  | "int32"
  | "uint32"
  | "int64"
  | "uint64"
  | "float16"
  | "bfloat16"
  | "float32"
  | "float64"
  | "complex64"
  | "complex128"
  | "float8_e4m3fn"
  | "float8_e5m2"
  | "float8_e8m0fnu"
  | "float8_e4m3fnuz"
  | "float8_e5m2fnuz"
  | "float6_e2m3fn"
  | "float6_e3m2fn"
  | "float4_e2m1fn";

/**
 * The array that holds the elements of each dtype: the typed array of the same element where JavaScript has one,
 * bits in an unsigned array otherwise. Complex numbers are interleaved (twice the length), types under a byte packed.
 */
export interface DataMap {
  bool: Uint8Array;
  int8: Int8Array;
  uint8: Uint8Array;
  int16: Int16Array;
  uint16: Uint16Array;
  int32: Int32Array;
  uint32: Uint32Array;
  int64: BigInt64Array;
  uint64: BigUint64Array;
  float16: Uint16Array;
  bfloat16: Uint16Array;
  float32: Float32Array;
  float64: Float64Array;
  complex64: Float32Array;
  complex128: Float64Array;
  float8_e4m3fn: Uint8Array;
  float8_e5m2: Uint8Array;
  float8_e8m0fnu: Uint8Array;
  float8_e4m3fnuz: Uint8Array;
  float8_e5m2fnuz: Uint8Array;
  float6_e2m3fn: Uint8Array;
  float6_e3m2fn: Uint8Array;
  float4_e2m1fn: Uint8Array;
}

export type DTypeKind = "bool" | "int" | "uint" | "float" | "complex";

/** What makes a typed array on a buffer. */
export interface DataConstructor<T> {
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
  new (length: number): T;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): T;
}

const arrays: { readonly [D in DType]: DataConstructor<DataMap[D]> } = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  complex64: Float32Array,
  complex128: Float64Array,
  float8_e4m3fn: Uint8Array,
  float8_e5m2: Uint8Array,
  float8_e8m0fnu: Uint8Array,
  float8_e4m3fnuz: Uint8Array,
  float8_e5m2fnuz: Uint8Array,
  float6_e2m3fn: Uint8Array,
  float6_e3m2fn: Uint8Array,
  float4_e2m1fn: Uint8Array,
};

export interface DTypeInfo {
  /** Bits of one element: 4 to 128. */
  readonly bits: number;
  /** Bytes of one element; a fraction for packed types (0.5 for float4). */
  readonly bytes: number;
  /** Numbers that make one element: 2 for complex dtypes. */
  readonly components: 1 | 2;
  readonly kind: DTypeKind;
}

/** By name: measured, a Map is asked in half the time of an object. */
const constructors = new Map<unknown, DataConstructor<DataMap[DType]>>(Object.entries(arrays));

/** Whether `dtype` names an element type. */
export function isDType(dtype: unknown): dtype is DType {
  return constructors.has(dtype);
}

/** The dtype that a typed array stands for by the name of its class; `undefined` for another class. */
export function nativeDType(className: string): DType | undefined {
  const dtype = className.replace(/^Big|(Clamped)?Array$/g, "").toLowerCase();
  return isDType(dtype) ? dtype : undefined;
}

const infos = new Map<DType, DTypeInfo>();

/** Size and kind of a dtype's elements. Throws `invalid-dtype`. */
export function dtypeInfo(dtype: DType): DTypeInfo {
  let info = infos.get(dtype);
  if (info === undefined) {
    dataConstructor(dtype);
    // The names tell: their first number is that of the bits.
    const bits = Number(/\d+/.exec(dtype) ?? 8);
    const kind = (/u?int|float|complex/.exec(dtype)?.[0] ?? "bool") as DTypeKind;
    info = Object.freeze({ bits, bytes: bits / 8, components: kind === "complex" ? 2 : 1, kind });
    infos.set(dtype, info);
  }
  return info;
}

/** The dtype that {@link usualLength} was asked for last, and mostly is next: looking it up takes as long as all else. */
let last: unknown;
let LastData: DataConstructor<DataMap[DType]> = Uint8Array;
let lastBytes = 0;

/**
 * Bytes of the usual tensor: an array of its dtype's class, as long as its shape says. 0 for an empty one and for all
 * that needs a longer look. Short, so that engines compile it in place: measured, it makes flattening a tenth faster.
 */
export function usualLength(dtype: unknown, shape: unknown, data: unknown): number {
  if (dtype !== last) {
    if (!isDType(dtype)) return 0;
    last = dtype;
    LastData = dataConstructor(dtype);
    lastBytes = dtypeInfo(dtype).bytes;
  }
  if (!ArrayBuffer.isView(data) || data.constructor !== LastData || !Array.isArray(shape)) return 0;
  let bytes = lastBytes;
  for (let axis = 0; axis < shape.length; axis++) {
    if (!isCount(shape[axis])) return 0;
    bytes *= shape[axis];
  }
  const { length } = data as DataMap[DType]; // of that class: measured, faster than byteLength
  return bytes === length * LastData.BYTES_PER_ELEMENT ? bytes : 0;
}

/** The typed array class that holds a dtype. `name` is what messages call the tensor. Throws `invalid-dtype`. */
export function dataConstructor<D extends DType>(
  dtype: D,
  name?: string,
): DataConstructor<DataMap[D]> {
  const Data = constructors.get(dtype);
  if (Data !== undefined) return Data as DataConstructor<DataMap[D]>; // the entry of that name
  throw tensorError(name, "invalid-dtype", `${describe(dtype)} is no dtype`, {
    actual: dtype,
    hint: "use a name of NumPy or ml_dtypes, such as float32 or bfloat16",
  });
}

/** Whether `value` is an integer from 0 to 2^53−1: a dimension, an offset, a number of bytes. */
export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/**
 * Number of elements of a shape; 1 for a scalar (`[]`). `name` is what messages call the tensor.
 * Throws `invalid-shape` for a dimension that is no integer from 0 to 2^53−1, and for a product past 2^53−1
 * reached from left to right, even where a later dimension is 0.
 */
export function elementCount(shape: readonly number[], name?: string): number {
  if (!Array.isArray(shape)) throw wrongShape(name, "the shape", describe(shape), shape);
  let count = 1;
  for (let axis = 0; axis < shape.length; axis++) {
    const dim: unknown = shape[axis];
    if (!isCount(dim)) throw wrongShape(name, `axis ${axis} of the shape`, describe(dim), dim);
    count *= dim;
    if (count > Number.MAX_SAFE_INTEGER) throw tooLarge(name, shape);
  }
  return count;
}

function tooLarge(name: string | undefined, shape: readonly number[]): Error {
  return wrongShape(name, `the shape ${shapeText(shape)}`, "too large", shape);
}

function wrongShape(name: string | undefined, what: string, is: string, actual: unknown): Error {
  return tensorError(name, "invalid-shape", `${what} is ${is}`, {
    actual,
    hint: "dimensions and their product are integers from 0 to 2^53-1",
  });
}

/** Bytes of an array, exactly. Throws `invalid-shape` (also where packed elements do not fill whole bytes) and `invalid-dtype`. */
export function byteLength(dtype: DType, shape: readonly number[], name?: string): number {
  const { bits, bytes } = dtypeInfo(dtype);
  const count = elementCount(shape, name);
  // Only of a packed dtype may the rest matter, and a remainder of large numbers is slow.
  if (bits < 8 && ((count % 8) * bits) % 8 !== 0) {
    throw tensorError(
      name,
      "invalid-shape",
      `${count} elements of ${dtype} do not fill whole bytes`,
      { expected: `a multiple of ${bits === 6 ? 4 : 2} elements`, actual: count },
    );
  }
  const length = count * bytes;
  if (length > Number.MAX_SAFE_INTEGER) throw tooLarge(name, shape);
  return length;
}

/** A shape as it stands in messages: `(2, 3)`, cut after 16 axes. */
export function shapeText(shape: readonly number[]): string {
  if (!Array.isArray(shape)) return describe(shape);
  const more = shape.length > 16 ? ", ..." : shape.length === 1 ? "," : "";
  return `(${shape.slice(0, 16).map(describe).join(", ")}${more})`;
}
