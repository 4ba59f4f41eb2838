import { unfilled } from "#unfilled";
import {
  byteLength,
  type DataMap,
  type DType,
  dataConstructor,
  isDType,
  shapeText,
  usualLength,
} from "./dtype.js";
import { classTag, describe, quote, TensorjarError, tensorError } from "./error.js";

/** An array of one dtype: C-contiguous, little-endian. Any object of this form is one; `[]` is the shape of a scalar. */
export interface TensorOf<D extends DType> {
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly data: DataMap[D];
}

/** A union over the dtypes: testing `dtype` narrows `data`. */
export type Tensor<D extends DType = DType> = { [K in D]: TensorOf<K> }[D];

/** Anything with the form of an array, known dtype or not; `undefined` where a lookup found nothing. */
export type AnyArray = { dtype: string; shape: readonly number[]; data: unknown } | undefined;

/** Bytes that tensorjar allocated; they go into `Blob`, `Response`, `fetch` as they are. */
export type Bytes = ReturnType<Uint8Array["slice"]>;

/** Bytes that tensorjar accepts. */
export type BytesLike = ArrayBuffer | SharedArrayBuffer | ArrayBufferView;

/** Whether `value` is a buffer or a view on one, also of another realm. */
export function isBytesLike(value: unknown): value is BytesLike {
  return ArrayBuffer.isView(value) || /^(Shared)?ArrayBuffer$/.test(classTag(value));
}

/** A plain `Uint8Array` on the same memory. Throws `invalid-argument` for what is not bytes or was transferred. */
export function toBytes(bytes: BytesLike): Uint8Array {
  let state = "";
  try {
    if (ArrayBuffer.isView(bytes))
      return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (isBytesLike(bytes)) return new Uint8Array(bytes);
  } catch {
    state = ", detached: it was transferred";
  }
  throw new TensorjarError("invalid-argument", `expected bytes, got ${describe(bytes)}${state}`);
}

/** `length` zeroed bytes. Throws `limit-exceeded` where the engine cannot allocate them. */
export function allocate(length: number): Bytes {
  try {
    return new Uint8Array(length);
  } catch (cause) {
    throw new TensorjarError(
      "limit-exceeded",
      `${length} bytes could not be allocated`,
      { actual: length },
      { cause },
    );
  }
}

/**
 * The memory of a tensor's data as bytes, in C order, little-endian: a view, also for a part of a larger buffer.
 * Throws `invalid-argument` for memory that was transferred.
 */
export function tensorBytes(tensor: { readonly data: ArrayBufferView }): Uint8Array {
  return toBytes(tensor.data);
}

/**
 * The tensor whose data is exactly `bytes`: a view where the memory is aligned for the dtype, a copy where it is not
 * or where `copy` asks for one. `bytes` must be as long as `byteLength(dtype, shape)`.
 */
export function tensorFromBytes<D extends DType>(
  dtype: D,
  shape: readonly number[],
  bytes: Uint8Array,
  copy = false,
): TensorOf<D> {
  const Data = dataConstructor(dtype);
  let own = bytes;
  if (copy || bytes.byteOffset % Data.BYTES_PER_ELEMENT !== 0) {
    own = unfilled(bytes.length);
    own.set(bytes);
  }
  return {
    dtype,
    shape,
    data: new Data(own.buffer, own.byteOffset, own.length / Data.BYTES_PER_ELEMENT),
  };
}

/**
 * Checks that `value`, called `name` in messages, is a tensor: a known dtype, a shape, and data of that dtype's
 * array class and of exactly that size, in C order where it has strides. Returns its length in bytes.
 * Throws `invalid-argument`, `invalid-dtype`, `invalid-shape`.
 */
export function checkTensor(value: unknown, name?: string): number {
  const { dtype, shape, data, stride, strides = stride, offset } = fieldsOf(value);
  const usual = strides ? 0 : usualLength(dtype, shape, data);
  if (usual > 0) return usual;
  if (dtype === undefined || shape === undefined || data === undefined) {
    throw tensorError(name, "invalid-argument", `${describe(value)} is no tensor`, {
      hint: "tensor(data, shape) makes one",
    });
  }
  const Data = dataConstructor(dtype, name);
  if (!ArrayBuffer.isView(data) || (data.constructor !== Data && classTag(data) !== Data.name)) {
    throw tensorError(
      name,
      "invalid-argument",
      `the data is ${describe(data)}, but ${dtype} is held in a ${Data.name}`,
      { expected: Data.name, actual: classTag(data) },
    );
  }
  if (data.byteLength === 0) toBytes(data); // throws for memory that was transferred
  const expected = byteLength(dtype, shape, name);
  if (data.byteLength !== expected) {
    throw tensorError(
      name,
      "invalid-shape",
      `${dtype} of shape ${shapeText(shape)} takes ${expected} bytes, but the data has ${data.byteLength}`,
      { expected, actual: data.byteLength },
    );
  }
  // Other libraries' views have strides: 0 where one is not that of C order.
  const inOrder = (step: number, dim: number, axis: number): number =>
    dim === 1 || strides?.[axis] === step ? step * dim : 0;
  if (expected && strides?.length && !shape.reduceRight(inOrder, offset ? 0 : 1))
    throw tensorError(name, "invalid-argument", "a view not in C order: copy it");
  return expected;
}

/** The fields that make a tensor, as far as `x` has them; of these types only once that is checked. */
function fieldsOf(x: unknown): {
  dtype?: DType;
  shape?: readonly number[];
  data?: unknown;
  stride?: readonly number[];
  strides?: readonly number[];
  offset?: number;
} {
  return x ?? {};
}

/** Whether `x` has the form of a tensor of a known dtype (its sizes are not compared). */
export function isTensor(x: unknown): x is Tensor {
  const { dtype, shape, data } = fieldsOf(x);
  return isDType(dtype) && Array.isArray(shape) && ArrayBuffer.isView(data);
}

/** The same tensor, narrowed to one dtype. Throws `invalid-dtype` for another one, `not-found` for `undefined`. */
export function ofType<D extends DType>(t: AnyArray, dtype: D): TensorOf<D> {
  if (t === undefined || t === null) throw missingTensor();
  if (t.dtype !== dtype) {
    throw new TensorjarError(
      "invalid-dtype",
      `expected a tensor of ${dtype}, got ${quote(t.dtype)}`,
      { expected: dtype, actual: t.dtype, hint: `cast(tensor, ${quote(dtype)}) converts it` },
    );
  }
  checkTensor(t);
  return t as TensorOf<D>; // the dtype was compared just now, and checkTensor ties data to it
}

export function missingTensor(): TensorjarError {
  return new TensorjarError("not-found", "expected a tensor, got undefined", {
    hint: "the name that was looked up is not there",
  });
}
