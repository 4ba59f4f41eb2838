import {
  type BytesLike,
  type DType,
  isTensorjarError,
  type Tensor,
  TensorjarError,
} from "@tensorjar/core";
import { describe, isDType, quote, tensorFromBytes, toBytes } from "@tensorjar/core/codec";
import { swapBytes } from "#swap";
import type { NpyArray } from "./array.js";
import { cloneBytes } from "./bytes.js";
import { type ElementType, sizeOf, swapSize } from "./descr.js";
import { fortranToC } from "./fortran.js";
import {
  cut,
  type NpyHeader,
  type NpyHeaderOptions,
  type NpyLayout,
  readLayout,
} from "./header.js";
import { decodeStrings } from "./strings.js";

export interface NpyReadOptions extends NpyHeaderOptions {
  /** Never a view of the given bytes (default false). */
  copy?: boolean;
  /**
   * What to do with arrays in Fortran order: convert them to C order (default), leave the data and give the shape
   * reversed (the transposed array, without work), or refuse them with `unsupported`.
   */
  fortranOrder?: "to-c" | "reverse-shape" | "reject";
  /** The dtype of void data whose items have its size: `bfloat16` where a file says `<V2`. */
  voidAs?: DType;
}

export interface NpyDecodeOptions extends NpyReadOptions {
  /** Bytes after the data are `trailing-bytes` (default) or ignored, as NumPy does. */
  trailing?: "error" | "ignore";
}

/**
 * The array of an .npy file: a view of `bytes` where the data is aligned, little-endian and in C order, a copy otherwise.
 * Throws `not-this-format`, `truncated`, `trailing-bytes`, `unsupported-version`, `limit-exceeded`, `invalid-header`,
 * `invalid-utf8`, `invalid-shape`, `invalid-dtype`, `duplicate-name`, and `unsupported` for Python objects and long doubles.
 */
export function decodeNpy(bytes: BytesLike, options: NpyDecodeOptions = {}): NpyArray {
  return decodeFirst(toBytes(bytes), options).array;
}

/**
 * The arrays of a file in which several were saved one after another; each is decoded when its turn comes.
 * Throws as {@link decodeNpy} does, and names the array and where it starts when it is not the first.
 */
export function* decodeNpySequence(
  bytes: BytesLike,
  options: NpyReadOptions = {},
): Generator<NpyArray, void, undefined> {
  const file = toBytes(bytes);
  let start = 0;
  let index = 0;
  do {
    const { array, end } = decodeNext(file, start, index++, options);
    start += end;
    yield array;
  } while (start < file.length);
}

function decodeNext(
  file: Uint8Array,
  start: number,
  index: number,
  options: NpyReadOptions,
): { array: NpyArray; end: number } {
  try {
    return decodeFirst(file.subarray(start), { ...options, trailing: "ignore" });
  } catch (error) {
    if (index === 0 || !isTensorjarError(error)) throw error;
    const { hint: _, ...details } = error.details; // the message ends with it already
    const offset = start + (details.offset ?? 0);
    const message = `array ${index}, which starts at offset ${start}: ${error.message}`;
    throw new TensorjarError(error.code, message, { ...details, offset }, { cause: error });
  }
}

/** The array that `file` begins with, and where it ends. */
function decodeFirst(
  file: Uint8Array,
  options: NpyDecodeOptions,
): { array: NpyArray; end: number } {
  checkReadOptions(options);
  const layout = readLayout(file, options);
  checkDataSize(layout, file.length, options.trailing);
  const { dataOffset } = layout.header;
  const end = dataOffset + layout.byteLength;
  return { array: decodeData(layout, file.subarray(dataOffset, end), options), end };
}

/** Throws `invalid-argument` for a value that no option has. */
export function checkReadOptions({
  fortranOrder = "to-c",
  maxHeaderLength = 0,
  voidAs,
}: NpyReadOptions): void {
  const limits = typeof maxHeaderLength === "number" && maxHeaderLength >= 0;
  checkOption("maxHeaderLength", maxHeaderLength, limits);
  const orders = ["to-c", "reverse-shape", "reject"];
  checkOption("fortranOrder", fortranOrder, orders.includes(fortranOrder));
  const fits = voidAs === undefined || (isDType(voidAs) && sizeOf(voidAs) >= 1);
  checkOption("voidAs", voidAs, fits);
}

/** Throws `invalid-argument` for the value of an option that is not `valid`. */
export function checkOption(name: string, actual: unknown, valid: boolean): void {
  if (valid) return;
  const message = `the option ${name} is ${describe(actual)}`;
  throw new TensorjarError("invalid-argument", message, { name, actual });
}

/** Compares the data that a header declares with the `size` of its file. Throws `truncated`, `trailing-bytes`. */
export function checkDataSize(
  { header, byteLength }: NpyLayout,
  size: number,
  trailing?: "error" | "ignore",
): void {
  const { descr, shape, dataOffset } = header;
  const actual = size - dataOffset;
  if (actual < byteLength) {
    throw cut(`data of descr ${quote(descr)} and shape (${shape})`, byteLength, actual, size);
  }
  if (actual > byteLength && trailing !== "ignore") {
    throw new TensorjarError(
      "trailing-bytes",
      `${actual - byteLength} bytes follow the ${byteLength} bytes of data`,
      {
        offset: dataOffset + byteLength,
        expected: byteLength,
        actual,
        hint: "read them by decodeNpySequence",
      },
    );
  }
}

/**
 * The array of `data`, exactly the bytes that `layout` declares. `owned` data may be changed and kept in the result;
 * other data is viewed or copied. Throws `unsupported` where Fortran order is refused, and as {@link decodeStrings} does.
 */
export function decodeData(
  { header, element, count }: NpyLayout,
  data: Uint8Array,
  options: NpyReadOptions = {},
  owned = false,
): NpyArray {
  const shape = arrayShape(header, options);
  const copied =
    (header.fortranOrder && shape === header.shape
      ? fortranToC(data, element.itemSize, shape)
      : undefined) ?? (options.copy === true && !owned ? cloneBytes(data) : undefined);
  const dtype = voidDType(element, options) ?? element.dtype;
  return arrayOf(
    { ...element, dtype },
    shape,
    count,
    copied ?? data,
    owned || copied !== undefined,
  );
}

/** The shape that decoding gives: the header's own, unless it is to be reversed. Throws `unsupported` where Fortran order is refused. */
export function arrayShape(
  { fortranOrder, shape }: NpyHeader,
  { fortranOrder: wish = "to-c" }: NpyReadOptions,
): readonly number[] {
  if (!fortranOrder || shape.length < 2 || wish === "to-c") return shape;
  if (wish === "reverse-shape") return [...shape].reverse();
  throw new TensorjarError("unsupported", `the array of shape (${shape}) is in Fortran order`, {
    hint: 'fortranOrder: "to-c" converts it',
  });
}

/** The dtype that void items of its size are read as. */
export function voidDType(
  { dtype, itemSize }: ElementType,
  { voidAs }: NpyReadOptions,
): DType | undefined {
  const fits = dtype === "void" && voidAs !== undefined && sizeOf(voidAs) === itemSize;
  return fits ? voidAs : undefined;
}

/** The array of one element type whose items are `bytes`, in C order; they may become part of it, changed where they are `owned`. */
export function arrayOf(
  { dtype, itemSize, byteOrder, unit, fields }: ElementType,
  shape: readonly number[],
  count: number,
  bytes: Uint8Array,
  owned: boolean,
): NpyArray {
  if (dtype === "string") {
    const data = decodeStrings(bytes, count, itemSize, byteOrder === "little");
    return { dtype, shape, data, itemLength: itemSize / 4 };
  }
  const swap = byteOrder === "big";
  const data = swap && !owned ? cloneBytes(bytes) : bytes;
  if (swap) swapBytes(data, swapSize(dtype, itemSize));
  if (isDType(dtype)) {
    return tensorFromBytes(dtype, shape, data) as Tensor; // a tensor of one dtype of the union
  }
  if (dtype === "datetime64" || dtype === "timedelta64") {
    return { dtype, shape, data: tensorFromBytes("int64", shape, data).data, unit: unit ?? "" };
  }
  if (dtype === "struct") return { dtype, shape, data, itemSize, fields: fields ?? [] };
  return { dtype: dtype === "bytes" ? "bytes" : "void", shape, data, itemSize };
}
