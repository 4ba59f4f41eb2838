import {
  byteLength,
  type DataMap,
  type DType,
  dataConstructor,
  dtypeInfo,
  elementCount,
  nativeDType,
  shapeText,
} from "./dtype.js";
import { classTag, describe, TensorjarError } from "./error.js";
import { fromNested } from "./from-nested.js";
import type { Nested } from "./nested.js";
import { allocate, type Tensor, type TensorOf, tensorFromBytes } from "./tensor.js";

/** `Float16Array` where the runtime's types know one. */
type Float16 = typeof globalThis extends { Float16Array: { prototype: infer T } } ? T : never;

/**
 * A tensor of `data`, checked. A typed array is kept as it is, on the same memory: its class gives the dtype, unless
 * one is given that the class holds (`"bool"` or a float8 on a `Uint8Array`, `"bfloat16"` bits on a `Uint16Array`,
 * interleaved complex numbers); it is 1-D when `shape` is absent. Numbers, bigints, booleans and nested arrays of them
 * are copied: float64, int64 and bool without a `dtype`; with one, integers must fit it exactly, floats are rounded
 * to nearest even, complex numbers are `[re, im]`. Throws `invalid-shape`, `invalid-dtype`, `invalid-argument`,
 * `unsupported` (numbers as float6).
 */
export function tensor<D extends DType>(
  data: DataMap[D] | Nested,
  shape: readonly number[] | undefined,
  dtype: D,
): TensorOf<D>;
export function tensor(data: Float16, shape?: readonly number[]): TensorOf<"float16">;
export function tensor(data: Float32Array, shape?: readonly number[]): TensorOf<"float32">;
export function tensor(data: Float64Array, shape?: readonly number[]): TensorOf<"float64">;
export function tensor(data: Int8Array, shape?: readonly number[]): TensorOf<"int8">;
export function tensor(
  data: Uint8Array | Uint8ClampedArray,
  shape?: readonly number[],
): TensorOf<"uint8">;
export function tensor(data: Int16Array, shape?: readonly number[]): TensorOf<"int16">;
export function tensor(data: Uint16Array, shape?: readonly number[]): TensorOf<"uint16">;
export function tensor(data: Int32Array, shape?: readonly number[]): TensorOf<"int32">;
export function tensor(data: Uint32Array, shape?: readonly number[]): TensorOf<"uint32">;
export function tensor(data: BigInt64Array, shape?: readonly number[]): TensorOf<"int64">;
export function tensor(data: BigUint64Array, shape?: readonly number[]): TensorOf<"uint64">;
export function tensor(
  data: DataMap[DType] | Float16 | Uint8ClampedArray | Nested,
  shape?: readonly number[],
): Tensor;
export function tensor(data: unknown, shape?: readonly number[], dtype?: DType): Tensor {
  if (shape !== undefined && !Array.isArray(shape)) {
    throw new TensorjarError(
      "invalid-shape",
      `the shape is ${describe(shape)}, not an array of integers`,
    );
  }
  if (dtype !== undefined) dtypeInfo(dtype);
  if (!ArrayBuffer.isView(data)) return fromNested(data, shape, dtype);
  return fromTypedArray(data, shape, dtype);
}

function fromTypedArray(
  data: ArrayBufferView,
  shape: readonly number[] | undefined,
  given: DType | undefined,
): Tensor {
  const tag = classTag(data);
  const native = nativeDType(tag);
  if (native === undefined) {
    throw new TensorjarError(
      "invalid-argument",
      `the data is ${describe(data)}, which is no typed array`,
      {
        actual: tag,
        hint: "view the bytes as a typed array of the elements",
      },
    );
  }
  const dtype = given ?? native;
  const Data = dataConstructor(dtype);
  // Bits that JavaScript has a class of its own for, and the bytes of a canvas.
  const held =
    tag === "Uint8ClampedArray"
      ? "Uint8Array"
      : tag === "Float16Array" && dtype === "float16"
        ? "Uint16Array"
        : tag;
  if (held !== Data.name) {
    throw new TensorjarError(
      "invalid-argument",
      `${dtype} is held in a ${Data.name}, the data is a ${tag}`,
      {
        expected: Data.name,
        actual: tag,
        hint: `to convert numbers, use cast(tensor(data), "${dtype}")`,
      },
    );
  }
  const dims = shape === undefined ? [wholeElements(dtype, data.byteLength)] : [...shape];
  const expected = byteLength(dtype, dims);
  if (expected !== data.byteLength) {
    const unit = Data.BYTES_PER_ELEMENT;
    throw new TensorjarError(
      "invalid-shape",
      `${dtype} of shape ${shapeText(dims)} takes a ${Data.name} of ${expected / unit} elements, the data has ${data.byteLength / unit}`,
      { expected: expected / unit, actual: data.byteLength / unit },
    );
  }
  // A subclass (Node's Buffer), another class or another realm's becomes a plain array on the same memory.
  const plain = Object.getPrototypeOf(data) === Data.prototype;
  const memory = plain
    ? data
    : new Data(data.buffer, data.byteOffset, data.byteLength / Data.BYTES_PER_ELEMENT);
  const made: unknown = { dtype, shape: dims, data: memory };
  return made as Tensor; // its class was compared with the dtype's
}

function wholeElements(dtype: DType, bytes: number): number {
  const { bits } = dtypeInfo(dtype);
  const group = bits === 6 ? 3 : Math.ceil(bits / 8);
  if (bytes % group !== 0) {
    throw new TensorjarError(
      "invalid-shape",
      `${bytes} bytes are no whole elements of ${dtype} at ${bits} bits`,
      {
        expected: `a multiple of ${group} bytes`,
        actual: bytes,
      },
    );
  }
  return (bytes / group) * ((group * 8) / bits);
}

/**
 * A tensor of zeros (of float8_e8m0fnu, which has none, its smallest number, 2^-127).
 * Throws `invalid-shape`, `invalid-dtype`, and `limit-exceeded` where the memory cannot be had.
 */
export function zeros(shape: readonly number[]): TensorOf<"float32">;
export function zeros<D extends DType = "float32">(
  shape: readonly number[],
  dtype?: D,
): TensorOf<D>;
export function zeros(shape: readonly number[], dtype: DType = "float32"): TensorOf<DType> {
  elementCount(shape);
  return tensorFromBytes(dtype, [...shape], allocate(byteLength(dtype, shape)));
}
