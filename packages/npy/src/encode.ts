import { type Bytes, elementCount, type Tensor, TensorjarError } from "@tensorjar/core";
import { allocate, checkTensor, classTag, describe, tensorBytes } from "@tensorjar/core/codec";
import type { NpyArray } from "./array.js";
import { type ElementType, sizeOf } from "./descr.js";
import { descrText } from "./descr-text.js";
import { encodeHeader } from "./header-text.js";
import { encodeStrings } from "./strings.js";

export interface NpyWriteOptions {
  /** Format version; by default the lowest that can hold the header, as `np.save` chooses. */
  version?: 1 | 2 | 3;
  /** Room in the header for the first axis to grow (default true, as NumPy ≥ 1.23; false gives the bytes of older writers). */
  growthPadding?: boolean;
  /** Writes bfloat16 and float8 as void of their size (default false: `unsupported`). */
  asVoid?: boolean;
}

/** A file ready to be written. */
export interface NpyPieces {
  readonly byteLength: number;
  /** The header, then the data in views of at most 64 MiB. */
  readonly pieces: Uint8Array[];
}

const maxPiece = 64 << 20;

/**
 * The bytes of an .npy file, identical to those of `np.save`. Throws `unsupported` for dtypes that .npy has no name for,
 * `invalid-argument`, `invalid-shape`, `invalid-dtype`, and for fields that NumPy cannot describe `invalid-offsets`,
 * `invalid-name`, `duplicate-name`.
 */
export function encodeNpy(array: NpyArray, options: NpyWriteOptions = {}): Bytes {
  const { byteLength, pieces } = npyPieces(array, options);
  const file = allocate(byteLength);
  let at = 0;
  for (const piece of pieces) {
    file.set(piece, at);
    at += piece.length;
  }
  return file;
}

/** Checks an array and makes its header; the data is not copied, except strings. Throws as {@link encodeNpy} does. */
export function npyPieces(array: NpyArray, options: NpyWriteOptions = {}): NpyPieces {
  const { element, data } = contentOf(array);
  const header = encodeHeader(descrText(element, options.asVoid), array.shape, options);
  const pieces: Uint8Array[] = [header];
  for (let at = 0; at < data.length; at += maxPiece) pieces.push(data.subarray(at, at + maxPiece));
  return { byteLength: header.length + data.length, pieces };
}

/** The element type and the bytes of an array of any kind, checked but for its dtype's name. */
function contentOf(array: NpyArray): { element: ElementType; data: Uint8Array } {
  if (!isOtherKind(array)) {
    checkTensor(array);
    const itemSize = sizeOf(array.dtype);
    return {
      element: { dtype: array.dtype, itemSize, byteOrder: "little" },
      data: tensorBytes(array),
    };
  }
  const { dtype, shape } = array;
  if (!Array.isArray(shape)) {
    throw new TensorjarError(
      "invalid-shape",
      `the array has ${describe(shape)} as its shape, not an array of integers`,
    );
  }
  const count = elementCount(shape);
  if (dtype === "string") {
    const { data, itemLength } = array;
    if (!Array.isArray(data)) throw wrongData(dtype, data, "an array of strings");
    if (data.length !== count) throw wrongLength(dtype, count, data.length, "strings");
    const element: ElementType = { dtype, itemSize: 4 * itemLength, byteOrder: "little" };
    descrText(element); // the width is checked before memory is asked for
    return { element, data: encodeStrings(data, itemLength) };
  }
  const element: ElementType =
    "itemSize" in array
      ? { byteOrder: "none", ...array }
      : { dtype, itemSize: 8, byteOrder: "little", unit: array.unit };
  const wanted = "itemSize" in array ? "Uint8Array" : "BigInt64Array";
  if (!ArrayBuffer.isView(array.data) || classTag(array.data) !== wanted) {
    throw wrongData(dtype, array.data, `a ${wanted}`);
  }
  const data = tensorBytes(array);
  if (!Number.isSafeInteger(element.itemSize) || element.itemSize < 0) {
    throw new TensorjarError(
      "invalid-dtype",
      `the items of an array of dtype ${dtype} have ${describe(element.itemSize)} bytes`,
      { expected: "an integer from 0", actual: element.itemSize },
    );
  }
  const expected = count * element.itemSize;
  if (data.length !== expected) throw wrongLength(dtype, expected, data.length, "bytes");
  return { element, data };
}

const otherKinds = ["string", "bytes", "datetime64", "timedelta64", "void", "struct"];

function isOtherKind(array: NpyArray): array is Exclude<NpyArray, Tensor> {
  return typeof array === "object" && array !== null && otherKinds.includes(array.dtype);
}

function wrongData(dtype: string, data: unknown, wanted: string): TensorjarError {
  return new TensorjarError(
    "invalid-argument",
    `the data of an array of dtype ${dtype} is ${describe(data)}, not ${wanted}`,
    { expected: wanted },
  );
}

function wrongLength(
  dtype: string,
  expected: number,
  actual: number,
  unit: string,
): TensorjarError {
  return new TensorjarError(
    "invalid-shape",
    `the shape of an array of dtype ${dtype} takes ${expected} ${unit}, its data has ${actual}`,
    { expected, actual },
  );
}
