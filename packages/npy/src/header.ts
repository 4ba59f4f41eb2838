import { type BytesLike, TensorjarError } from "@tensorjar/core";
import { notThisFormat, quote, toBytes } from "@tensorjar/core/codec";
import { type ElementType, parseDescr } from "./descr.js";
import { isSequence, kindOf, type LiteralEntry, parseLiteral } from "./literal.js";
import { bytesOf, parseShape } from "./shape.js";

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

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const what = "a NumPy .npy file, which begins with the magic string \\x93NUMPY";

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
  { maxHeaderLength = 10_000 }: NpyHeaderOptions = {},
): { version: 1 | 2 | 3; textOffset: number; dataOffset: number } {
  if (magic.some((byte, at) => at < start.length && start[at] !== byte) || start.length === 0) {
    throw (
      notThisFormat(start, "npy", what) ??
      new TensorjarError("not-this-format", `this is not ${what}`, { offset: 0, expected: "npy" })
    );
  }
  const [major, minor] = [start[6], start[7]];
  if (major === undefined || minor === undefined) throw cut(8, size);
  if ((major !== 1 && major !== 2 && major !== 3) || minor !== 0) {
    throw new TensorjarError(
      "unsupported-version",
      `the .npy format version is ${major}.${minor}, known are 1.0, 2.0 and 3.0`,
      { offset: 6, actual: `${major}.${minor}`, expected: ["1.0", "2.0", "3.0"] },
    );
  }
  const textOffset = major === 1 ? 10 : 12;
  if (start.length < textOffset) throw cut(textOffset, size);
  let length = 0;
  for (let at = textOffset; at-- > 8; ) length = length * 256 + (start[at] ?? 0);
  const dataOffset = textOffset + length;
  if (dataOffset > size) throw cut(dataOffset, size);
  if (length > maxHeaderLength * (major === 3 ? 4 : 1)) throw tooLong(length, maxHeaderLength);
  return { version: major, textOffset, dataOffset };
}

function cut(expected: number, actual: number): TensorjarError {
  return new TensorjarError(
    "truncated",
    `the header of the .npy file takes ${expected} bytes, the file ends after ${actual}`,
    { offset: actual, expected, actual },
  );
}

function tooLong(actual: number, limit: number): TensorjarError {
  return new TensorjarError(
    "limit-exceeded",
    `the header has ${actual} characters, over the limit of ${limit}`,
    { expected: limit, actual, hint: "maxHeaderLength raises the limit for files that you trust" },
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
  const { version, textOffset, dataOffset } = headerEnd(bytes, size, options);
  const { maxHeaderLength = 10_000 } = options;
  const encoded = bytes.subarray(textOffset, dataOffset);
  const text = version === 3 ? utf8(encoded, maxHeaderLength) : latin1(encoded);
  const dict = parseLiteral(text, version < 3, textOffset);
  if (typeof dict !== "object" || dict?.kind !== "dict") {
    throw invalid(`the header is ${kindOf(dict)}, not a dict`);
  }
  const entries = new Map(dict.entries);
  const take = (key: string): LiteralEntry => {
    const entry = entries.get(key);
    if (!entry) throw invalid(`the header has no key ${quote(key)}`);
    entries.delete(key);
    return entry;
  };
  const descr = take("descr");
  const fortranOrder = take("fortran_order").value;
  const dims = take("shape").value;
  for (const key of entries.keys()) throw invalid(`the header has an unknown key ${quote(key)}`);
  if (typeof fortranOrder !== "boolean") {
    throw invalid(`fortran_order is ${kindOf(fortranOrder)}, not True or False`);
  }
  if (!isSequence(dims) || dims.kind !== "tuple") {
    throw new TensorjarError("invalid-shape", `the shape is ${kindOf(dims)}, not a tuple`);
  }
  const shape = parseShape(dims.items);
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

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return text;
}

function utf8(bytes: Uint8Array, maxHeaderLength: number): string {
  let text: string;
  try {
    // copied, for decoders refuse shared memory
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.slice());
  } catch (cause) {
    throw new TensorjarError("invalid-utf8", "the header is not valid UTF-8", {}, { cause });
  }
  let characters = 0;
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) characters++;
  if (characters > maxHeaderLength) throw tooLong(characters, maxHeaderLength);
  return text;
}

function invalid(message: string): TensorjarError {
  return new TensorjarError("invalid-header", message);
}
