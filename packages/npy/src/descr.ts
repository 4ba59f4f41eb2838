import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import type { Literal } from "./literal.js";
import { bytesOf, parseShape } from "./shape.js";

/** One element of an array: what a dtype descriptor says. */
export interface ElementType {
  /** A {@link DType}, or `string`, `bytes`, `datetime64`, `timedelta64`, `void`, `struct`. */
  readonly dtype: string;
  /** Bytes of one element. */
  readonly itemSize: number;
  /** Order of the bytes in the file; `none` where there is nothing to swap. A struct's fields have their own. */
  readonly byteOrder: "little" | "big" | "none";
  /** Of datetimes: `ns`, `25s`, or empty where none is given. */
  readonly unit?: string;
  readonly fields?: readonly StructField[];
}

/** A field of a structured dtype. `itemSize` is that of one element of its sub-array. */
export interface StructField extends ElementType {
  readonly name: string;
  readonly title?: string;
  /** Bytes from the start of the struct. */
  readonly offset: number;
  /** Of the sub-array in each struct; `[]` for a plain field. */
  readonly shape: readonly number[];
}

/** NumPy keeps the size of an element in a C int. */
const maxItemSize = 2 ** 31 - 1;

const names =
  "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128";
/** The codes without a size of those dtypes, in that order, where they mean the same on every platform. */
const letters = "?bBhHiIqQefdFD";
const flexible: { readonly [letter: string]: string } = { S: "bytes", U: "string", V: "void" };
const time = /^(?:(M8|datetime64)|m8|timedelta64)(?:\[(?:(\d*)([YMWDhms]|[munpfa]s)|generic)])?$/;
const noForm = /^(?:f12|f16|c24|c32|[gG]|T\d*|StringDType.*)$/;

/** The element type of a header's descr. Throws `invalid-dtype`, `unsupported`, `invalid-header`, `duplicate-name`. */
export function parseDescr(descr: Literal): ElementType {
  if (typeof descr === "string") return scalarType(descr);
  const list = listOf(descr);
  if (list !== undefined) return structType(list);
  throw malformed();
}

/** The bytes that are swapped as a whole in big-endian elements. */
export function swapSize(dtype: string, itemSize: number): number {
  if (dtype === "string") return 4;
  return dtype.startsWith("complex") ? itemSize / 2 : itemSize;
}

function scalarType(descr: string): ElementType {
  const [, order = "", code = ""] = /^([<>=|]?)(.*)/s.exec(descr) ?? [];
  const [span, date, factor, base = ""] = time.exec(code) ?? [];
  const [, kind = "", size] = /^([biufcSUV])(\d*)$/.exec(code) ?? [];
  const isSized = (name: string): boolean => name[0] === kind && sizeOf(name) === Number(size);
  const name =
    descr === "bfloat16"
      ? descr
      : names.split(" ").find((name, i) => name === descr || letters[i] === code || isSized(name));
  const times = Number(factor || 1);
  let dtype = flexible[kind] ?? name;
  let itemSize = name === undefined ? Number(size) : sizeOf(name);
  if (kind === "U") itemSize *= 4;
  if (span && times <= maxItemSize) {
    dtype = date ? "datetime64" : "timedelta64";
    itemSize = 8;
  }
  if (dtype === undefined || itemSize > maxItemSize) {
    const object = /^O\d*$|^object/.test(code);
    throw new TensorjarError(
      object || noForm.test(code) ? "unsupported" : "invalid-dtype",
      `the descr ${quote(descr)} ${object ? "means Python objects" : "is no dtype of .npy"}`,
    );
  }
  const none = itemSize === 1 || /[SV]/.test(kind);
  return {
    dtype,
    itemSize,
    byteOrder: none ? "none" : order === ">" ? "big" : "little",
    ...(span && { unit: (times === 1 ? "" : times) + base }),
  };
}

/** Bytes of an element of a named dtype: the first number in its name is that of the bits. */
export function sizeOf(dtype: string): number {
  return Number(/\d+/.exec(dtype) ?? 8) / 8;
}

function structType(list: readonly Literal[]): ElementType {
  const fields: StructField[] = [];
  const labels = new Set<Literal>();
  let offset = 0;
  for (const entry of list) {
    const [label = null, descr = null, dims, ...more] = partsOf(entry);
    const pair = typeof label === "string" ? [null, label] : label;
    const [title, name, ...others] = Array.isArray(pair) ? pair : [];
    if (
      typeof name !== "string" ||
      (title !== null && typeof title !== "string") ||
      more.length + others.length > 0
    ) {
      throw malformed();
    }
    const field = { name, ...(title !== null && { title }), offset, ...subArray(descr, dims) };
    offset += bytesOf(field.shape, field.itemSize);
    if (offset > maxItemSize) {
      throw new TensorjarError("invalid-dtype", "the descr takes over 2^31-1 bytes");
    }
    // NumPy writes padding as void without a name, and takes any sub-array without one for padding
    if (label === "" && (field.dtype === "void" || field.shape.length > 0)) continue;
    for (const taken of title === null ? [name] : [name, title]) {
      if (labels.has(taken)) {
        throw new TensorjarError("duplicate-name", `the descr has ${quote(taken)} twice`, {
          name: taken,
        });
      }
      labels.add(taken);
    }
    fields.push(field);
  }
  return { dtype: "struct", itemSize: offset, byteOrder: "none", fields };
}

function malformed(): TensorjarError {
  return new TensorjarError(
    "invalid-header",
    "the descr is no string or list of fields (name, descr, shape)",
  );
}

/** An element type and the shape around it; a descr within a field may itself be a tuple `(descr, shape)`. */
function subArray(
  descr: Literal,
  dims?: Literal,
): ElementType & { readonly shape: readonly number[] } {
  const [base, inner, ...more] = Array.isArray(descr) ? descr : [];
  const type =
    inner !== undefined && more.length === 0
      ? subArray(base, inner)
      : { ...parseDescr(descr), shape: [] };
  if (dims === undefined) return type;
  const outer = parseShape(partsOf(dims, [dims]), "of a field");
  return { ...type, shape: [...outer, ...type.shape] };
}

/** What a list holds; `undefined` for any other value. */
function listOf(value: Literal): readonly Literal[] | undefined {
  const { list }: { list?: readonly Literal[] } = Object(value);
  return list;
}

/** What a tuple or a list holds. */
function partsOf(value: Literal, otherwise: readonly Literal[] = []): readonly Literal[] {
  return Array.isArray(value) ? value : (listOf(value) ?? otherwise);
}
