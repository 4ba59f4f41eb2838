import { type BytesLike, TensorjarError } from "@tensorjar/core";
import { quote, toBytes } from "@tensorjar/core/codec";
import { type ElementType, parseDescr } from "./descr.js";
import { type LiteralDict, parseLiteral } from "./literal.js";
import { otherFormat } from "./other-format.js";
import { bytesOf, parseShape } from "./shape.js";
import { decodeUtf8, latin1 } from "./text.js";

export interface NpyHeader {
  readonly version: readonly [1 | 2 | 3, 0];
  /** As written: `<f4`, or the text of a list of fields. */
  readonly descr: string;
  /** What decoding gives: a {@link DType}, `string`, `bytes`, `datetime64`, `timedelta64`, `void` or `struct`. */
  readonly dtype: string;
  readonly fortranOrder: boolean;
  readonly shape: readonly number[];
  /** Where the data starts, in bytes. */
  readonly dataOffset: number;
}

export interface NpyHeaderOptions {
  /** Characters of the header (default 10,000, as in NumPy). */
  maxHeaderLength?: number;
}

/** A header with what decoding needs to know. */
export interface NpyLayout {
  readonly header: NpyHeader;
  readonly element: ElementType;
  readonly count: number;
  /** Bytes of the data. */
  readonly byteLength: number;
}

/** Bytes that say how long a header is, of any version. */
export const headerPrefixLength = 12;

const magic = "\x93NUMPY";

/** An .npy header without its data. Throws as {@link readLayout} does. */
export function parseNpyHeader(bytes: BytesLike, options?: NpyHeaderOptions): NpyHeader {
  return readLayout(toBytes(bytes), options).header;
}

/**
 * Where the data starts, from the first 12 bytes of a file of `size` bytes. Nothing is allocated.
 * Throws `not-this-format`, `truncated`, `unsupported-version`, `limit-exceeded`.
 * Source of the layout: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
export function headerEnd(
  start: Uint8Array,
  size: number,
  { maxHeaderLength: limit = 10_000 }: NpyHeaderOptions = {},
): { version: 1 | 2 | 3; textOffset: number; dataOffset: number; limit: number } {
  const text = latin1(start.subarray(0, 64));
  if (!magic.startsWith(text.slice(0, 6))) {
    const what = otherFormat(text) ?? "no known format";
    throw new TensorjarError("not-this-format", `this is not an .npy file but ${what}`);
  }
  if (start.length < 10) throw cut("header", 10, size);
  const [version, minor] = start.subarray(6);
  if ((version !== 1 && version !== 2 && version !== 3) || minor !== 0) {
    throw new TensorjarError(
      "unsupported-version",
      `the .npy version is ${version}.${minor}, known are 1.0, 2.0 and 3.0`,
    );
  }
  const textOffset = version === 1 ? 10 : 12;
  let dataOffset = textOffset;
  for (let at = 8; at < textOffset; at++) dataOffset += (start[at] ?? 0) * 256 ** (at - 8);
  if (dataOffset > size) throw cut("header", dataOffset, size);
  checkLength((dataOffset - textOffset) / (version === 3 ? 4 : 1), limit);
  return { version, textOffset, dataOffset, limit };
}

/** The error for a file that ends at `offset`, `actual` bytes into its header or data, which takes `expected`. */
export function cut(
  what: string,
  expected: number,
  actual: number,
  offset: number = actual,
): TensorjarError {
  const empty = offset > 0 ? "" : "is empty and ";
  const message = `the ${what} takes ${expected} bytes, the file ${empty}has ${actual} of them`;
  return new TensorjarError("truncated", message, { offset, expected, actual });
}

function checkLength(actual: number, expected: number): void {
  if (actual <= expected) return;
  throw new TensorjarError(
    "limit-exceeded",
    `the header has ${actual} characters, over maxHeaderLength, ${expected}`,
    { expected, actual },
  );
}

/**
 * The header that `bytes` begin with, and the size of the data it declares; `size` is that of the whole file.
 * Throws `not-this-format`, `truncated` (the header itself), `unsupported-version`, `limit-exceeded`, `invalid-utf8`,
 * `invalid-header`, `invalid-shape`, `invalid-dtype`, `unsupported`, `duplicate-name`.
 */
export function readLayout(
  bytes: Uint8Array,
  options: NpyHeaderOptions = {},
  size: number = bytes.length,
): NpyLayout {
  const { version, textOffset, dataOffset, limit } = headerEnd(bytes, size, options);
  const encoded = bytes.subarray(textOffset, dataOffset);
  const text = version === 3 ? decodeUtf8(encoded) : latin1(encoded);
  if (text === undefined) throw new TensorjarError("invalid-utf8", "the header is not UTF-8");
  checkLength([...text].length, limit); // as Python counts them
  const dict = parseLiteral(text, version < 3);
  const entries: LiteralDict = dict instanceof Map ? dict : new Map();
  const [descr, order, dims] = ["descr", "fortran_order", "shape"].map((key) => entries.get(key));
  if (!descr || !order || !dims || entries.size > 3) {
    const keys = quote([...entries.keys()].join());
    throw invalid(`the header is a dict of ${keys}, not of descr, fortran_order and shape`);
  }
  const fortranOrder = order.value;
  if (typeof fortranOrder !== "boolean") {
    throw invalid(`fortran_order is ${quote(order.text)}, not True or False`);
  }
  const shape = parseShape(dims.value, dims.text);
  const element = parseDescr(descr.value);
  return {
    header: {
      version: [version, 0],
      descr: typeof descr.value === "string" ? descr.value : descr.text,
      dtype: element.dtype,
      fortranOrder,
      shape,
      dataOffset,
    },
    element,
    count: bytesOf(shape, 1),
    byteLength: bytesOf(shape, element.itemSize),
  };
}

function invalid(message: string): TensorjarError {
  return new TensorjarError("invalid-header", message);
}
