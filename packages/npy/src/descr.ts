import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { isSequence, kindOf, type Literal } from "./literal.js";
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

const kinds: { readonly [letter: string]: string } = {
  b: "bool",
  i: "int",
  u: "uint",
  f: "float",
  c: "complex",
  S: "bytes",
  U: "string",
  V: "void",
};
/** Codes without a size that mean the same on every platform. */
const shortCodes: { readonly [code: string]: string } = {
  "?": "b1",
  b: "i1",
  B: "u1",
  h: "i2",
  H: "u2",
  i: "i4",
  I: "u4",
  q: "i8",
  Q: "u8",
  e: "f2",
  f: "f4",
  d: "f8",
  F: "c8",
  D: "c16",
};
const sized = /^(?:b1|[iu][1248]|f[248]|c8|c16|[SUV]\d*)$/;
const named = /^(?:bool|u?int(?:8|16|32|64)|b?float16|float(?:32|64)|complex(?:64|128))$/;
const time =
  /^(?:(M8|datetime64)|m8|timedelta64)(?:\[(?:(\d*)([YMWDhms]|[munpfa\u03bc]s)|generic)\])?$/;
const objects = /^(?:O\d*|object_?)$/;
const unportable = /^(?:f12|f16|c24|c32|[gG]|c?longdouble|T\d*|StringDType.*)$/;

/** The element type of a header's descr. Throws `invalid-dtype`, `unsupported`, `invalid-header`, `duplicate-name`. */
export function parseDescr(descr: Literal): ElementType {
  if (typeof descr === "string") return scalarType(descr);
  if (isSequence(descr) && descr.kind === "list") return structType(descr.items);
  throw new TensorjarError(
    "invalid-header",
    `the descr is ${kindOf(descr)}, not a string or a list of fields`,
  );
}

/** The bytes that are swapped as a whole in elements of a type; 1 where nothing is. */
export function swapSize(dtype: string, itemSize: number): number {
  if (dtype === "string") return 4;
  if (/^(?:bytes|void|struct)$/.test(dtype)) return 1;
  return dtype.startsWith("complex") ? itemSize / 2 : itemSize;
}

function scalarType(descr: string): ElementType {
  const order = /^[<>=|]/.test(descr) ? descr.charAt(0) : "";
  const rest = descr.slice(order.length);
  const code = Object.hasOwn(shortCodes, rest) ? (shortCodes[rest] ?? "") : rest;
  let dtype = kinds[code.charAt(0)] ?? "";
  let itemSize = Number.NaN;
  let unit: string | undefined;
  const span = time.exec(code);
  if (sized.test(code)) {
    itemSize = Number(code.slice(1));
    if (/^[iufc]/.test(code)) dtype += 8 * itemSize;
    if (dtype === "string") itemSize *= 4;
  } else if (named.test(rest)) {
    dtype = rest;
    itemSize = Number(/\d*$/.exec(rest)) / 8 || 1;
  } else if (span) {
    const [, date, factor = "", base = ""] = span;
    dtype = date ? "datetime64" : "timedelta64";
    if (Number(factor) <= maxItemSize) itemSize = 8;
    unit = factor.replace(/^0*(?=\d)/, "").replace(/^1$/, "") + base.replace("\u03bc", "u");
  }
  if (!(itemSize <= maxItemSize)) throw unknown(descr, rest);
  const byteOrder = swapSize(dtype, itemSize) === 1 ? "none" : order === ">" ? "big" : "little";
  return { dtype, itemSize, byteOrder, ...(unit !== undefined && { unit }) };
}

function unknown(descr: string, code: string): TensorjarError {
  const object = objects.test(code);
  return object || unportable.test(code)
    ? new TensorjarError(
        "unsupported",
        `the descr ${quote(descr)} stands for ${object ? "Python objects, a pickle that can run code and is never read" : "what differs between platforms or has no form in .npy"}`,
        {
          actual: descr,
          hint: "convert the array in Python first, for example with astype(float)",
        },
      )
    : new TensorjarError("invalid-dtype", `the descr ${quote(descr)} names no dtype`, {
        actual: descr,
      });
}

function structType(list: readonly Literal[]): ElementType {
  const fields: StructField[] = [];
  const labels = new Set<Literal>();
  let itemSize = 0;
  for (const entry of list) {
    const [label, descr, dims, ...more] = isSequence(entry) ? entry.items : [];
    const [title, name, ...rest] = isSequence(label) ? label.items : [null, label];
    if (
      typeof name !== "string" ||
      (title !== null && typeof title !== "string") ||
      descr === undefined ||
      more.length + rest.length > 0
    ) {
      throw new TensorjarError(
        "invalid-header",
        "a field of the descr is not (name, descr), (name, descr, shape) or ((title, name), …)",
      );
    }
    const offset = itemSize;
    const field = subArray(descr, dims);
    itemSize += bytesOf(field.shape, field.itemSize);
    if (itemSize > maxItemSize) {
      throw new TensorjarError("invalid-dtype", `the descr takes over ${maxItemSize} bytes`);
    }
    // NumPy writes padding as void without a name, and takes any sub-array without one for padding
    const padding = label === "" && (field.dtype === "void" || field.shape.length > 0);
    for (const taken of padding ? [] : title === null ? [name] : [name, title]) {
      if (labels.has(taken)) {
        throw new TensorjarError("duplicate-name", `the descr has ${quote(taken)} twice`, {
          name: taken,
        });
      }
      labels.add(taken);
    }
    if (!padding) fields.push({ name, ...(title !== null && { title }), offset, ...field });
  }
  return { dtype: "struct", itemSize, byteOrder: "none", fields };
}

/** An element type and the shape around it; a descr within a field may itself be a tuple `(descr, shape)`. */
function subArray(
  descr: Literal,
  dims?: Literal,
): ElementType & { readonly shape: readonly number[] } {
  const [base, inner, ...more] = isSequence(descr) && descr.kind === "tuple" ? descr.items : [];
  const type =
    base !== undefined && inner !== undefined && more.length === 0
      ? subArray(base, inner)
      : { ...parseDescr(descr), shape: [] };
  if (dims === undefined) return type;
  return { ...type, shape: [...parseShape(isSequence(dims) ? dims.items : [dims]), ...type.shape] };
}
