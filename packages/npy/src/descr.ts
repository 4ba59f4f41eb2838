import { type DType, dtypeInfo, elementCount, TensorjarError } from "@tensorjar/core";
import { isDType, quote } from "@tensorjar/core/codec";
import type { Literal } from "./literal.js";

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

/** Codes without a size that mean the same on every platform. */
const shortCodes = new Map([
  ["?", "b1"],
  ["b", "i1"],
  ["B", "u1"],
  ["h", "i2"],
  ["H", "u2"],
  ["i", "i4"],
  ["I", "u4"],
  ["q", "i8"],
  ["Q", "u8"],
  ["e", "f2"],
  ["f", "f4"],
  ["d", "f8"],
  ["F", "c8"],
  ["D", "c16"],
]);

const kinds = new Map([
  ["i", "int"],
  ["u", "uint"],
  ["f", "float"],
  ["c", "complex"],
]);

/** The element type of a header's descr. Throws `invalid-dtype`, `unsupported`, `invalid-header`, `duplicate-name`. */
export function parseDescr(descr: Literal): ElementType {
  if (typeof descr === "string") return scalarType(descr);
  if (isSequence(descr) && descr.kind === "list") return structType(descr.items);
  throw invalid(`the descr is ${kindOf(descr)}, not a string or a list of fields`);
}

/** The size in bytes of what is swapped as a whole in elements of `dtype`; 1 where nothing is. */
export function swapSize(dtype: string): number {
  if (dtype === "string") return 4;
  if (dtype === "datetime64" || dtype === "timedelta64") return 8;
  if (!isDType(dtype)) return 1;
  const { bytes, components } = dtypeInfo(dtype);
  return Math.max(1, bytes / components);
}

function scalarType(descr: string): ElementType {
  const order = /^[<>=|]/.test(descr) ? descr.charAt(0) : "";
  const rest = descr.slice(order.length);
  const code = shortCodes.get(rest) ?? rest;
  const type = (dtype: string, itemSize: number, unit?: string): ElementType => {
    if (itemSize > maxItemSize) throw unknown(descr);
    const byteOrder = swapSize(dtype) === 1 ? "none" : order === ">" ? "big" : "little";
    return { dtype, itemSize, byteOrder, ...(unit === undefined ? {} : { unit }) };
  };

  if (order === "" && isDType(code) && dtypeInfo(code).bits >= 8) {
    return type(code, dtypeInfo(code).bytes);
  }
  const [, kind = "", size = ""] = /^([biufcSUV])(\d*)$/.exec(code) ?? [];
  const bytes = Number(size);
  if (kind === "S") return type("bytes", bytes);
  if (kind === "U") return type("string", 4 * bytes);
  if (kind === "V") return type("void", bytes);
  if (kind === "b" && bytes === 1) return type("bool", 1);
  const dtype = `${kinds.get(kind)}${8 * bytes}`;
  if (isDType(dtype)) return type(dtype, bytes);

  const time =
    /^(?:M8|(m8)|datetime64|(timedelta64))(?:\[(\d{0,10})(Y|M|W|D|h|m|s|ms|us|\u03bcs|ns|ps|fs|as|generic)\])?$/.exec(
      code,
    );
  if (time !== null) {
    const [, short, long, factor = "", unit = "generic"] = time;
    const times = Number(factor === "" ? 1 : factor);
    if (times > maxItemSize || (times !== 1 && unit === "generic")) throw unknown(descr);
    return type(
      (short ?? long) ? "timedelta64" : "datetime64",
      8,
      unit === "generic" ? "" : `${times === 1 ? "" : times}${unit.replace("\u03bc", "u")}`,
    );
  }
  throw unknown(descr);
}

function unknown(descr: string): TensorjarError {
  const details = { actual: descr };
  const code = descr.replace(/^[<>=|]/, "");
  if (/^(O\d*|object_?)$/.test(code)) {
    return new TensorjarError(
      "unsupported",
      `the descr ${quote(descr)} means Python objects, kept as a pickle, which can run code and is never read`,
      { ...details, hint: "save the array with a numeric dtype, such as array.astype(float)" },
    );
  }
  if (/^(f12|f16|c24|c32|[gG]|c?longdouble|float(96|128)|complex(192|256))$/.test(code)) {
    return new TensorjarError(
      "unsupported",
      `the descr ${quote(descr)} is long double, which differs between platforms`,
      { ...details, hint: "save the array as float64 or complex128" },
    );
  }
  if (/^(T\d*|StringDType.*)$/.test(code)) {
    return new TensorjarError("unsupported", `the descr ${quote(descr)} is NumPy's StringDType`, {
      ...details,
      hint: "save the array with a fixed width, such as array.astype('U')",
    });
  }
  return new TensorjarError(
    "invalid-dtype",
    `the descr ${quote(descr)} names no known dtype`,
    details,
  );
}

function structType(list: readonly Literal[]): ElementType {
  const fields: StructField[] = [];
  const names = new Set<string>();
  const claim = (name: string): void => {
    if (names.has(name)) {
      throw new TensorjarError("duplicate-name", `the descr has two fields named ${quote(name)}`, {
        name,
      });
    }
    names.add(name);
  };
  let itemSize = 0;
  for (const entry of list) {
    const parts = isSequence(entry) ? entry.items : [];
    const [label, descr, dims] = parts;
    if (label === undefined || descr === undefined || parts.length > 3) {
      throw invalid("a field of the descr is not (name, descr) or (name, descr, shape)");
    }
    const { name, title } = fieldName(label);
    const inner = fieldType(descr, name);
    const shape = [...(dims === undefined ? [] : fieldShape(dims, name)), ...inner.shape];
    const { element } = inner;
    const offset = itemSize;
    itemSize += element.itemSize * elementCount(shape);
    if (itemSize > maxItemSize) {
      throw new TensorjarError(
        "invalid-dtype",
        `the descr takes more than ${maxItemSize} bytes up to its field ${quote(name)}`,
        { name, expected: maxItemSize, actual: itemSize },
      );
    }
    // NumPy writes padding as fields without a name, and takes any sub-array without one for padding
    if (name === "" && title === undefined && (element.dtype === "void" || shape.length > 0))
      continue;
    claim(name);
    if (title !== undefined) claim(title);
    fields.push({ name, ...(title === undefined ? {} : { title }), offset, ...element, shape });
  }
  return { dtype: "struct", itemSize, byteOrder: "none", fields };
}

function fieldName(label: Literal): { name: string; title?: string } {
  if (typeof label === "string") return { name: label };
  const [title, name] = isSequence(label) && label.items.length === 2 ? label.items : [];
  if (typeof name !== "string" || (title !== null && typeof title !== "string")) {
    throw invalid("the name of a field in the descr is not a string or (title, name)");
  }
  return title === null ? { name } : { name, title };
}

function fieldType(
  descr: Literal,
  name: string,
): { element: ElementType; shape: readonly number[] } {
  if (!isSequence(descr) || descr.kind === "list") {
    return { element: parseDescr(descr), shape: [] };
  }
  const [base, dims] = descr.items;
  if (base === undefined || dims === undefined || descr.items.length > 2) {
    throw invalid(`the descr of field ${quote(name)} is a tuple that is not (descr, shape)`);
  }
  const inner = fieldType(base, name);
  return { element: inner.element, shape: [...fieldShape(dims, name), ...inner.shape] };
}

function fieldShape(dims: Literal, name: string): readonly number[] {
  return parseShape(isSequence(dims) ? dims.items : [dims], `the shape of field ${quote(name)}`);
}

/** A shape of at most 64 axes, NumPy's limit; `what` names it in messages. Throws `invalid-shape`. */
export function parseShape(dims: readonly Literal[], what: string): readonly number[] {
  if (dims.length > 64) {
    throw new TensorjarError("invalid-shape", `${what} has ${dims.length} axes, more than 64`, {
      expected: 64,
      actual: dims.length,
    });
  }
  return dims.map((dim, axis) => {
    if (typeof dim === "number" && dim >= 0) return dim;
    const shown = typeof dim === "number" || typeof dim === "bigint" ? String(dim) : kindOf(dim);
    throw new TensorjarError("invalid-shape", `axis ${axis} of ${what} is ${shown}`, {
      expected: "an integer from 0 to 2^53-1",
      actual: shown,
    });
  });
}

export function isSequence(value: Literal): value is Extract<Literal, { items: unknown }> {
  return typeof value === "object" && value !== null && value.kind !== "dict";
}

/** What a value of the header is, in Python's words. */
export function kindOf(value: Literal): string {
  if (value === null) return "None";
  if (typeof value === "object") return `a ${value.kind}`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "string" ? `the string ${quote(value)}` : `the number ${value}`;
}

function invalid(message: string): TensorjarError {
  return new TensorjarError("invalid-header", message);
}

/** Throws `invalid-argument` for what cannot be the dtype of void data. */
export function checkVoidAs(voidAs: unknown): asserts voidAs is DType | undefined {
  if (voidAs === undefined || (isDType(voidAs) && dtypeInfo(voidAs).bits >= 8)) return;
  throw new TensorjarError(
    "invalid-argument",
    `voidAs is ${String(voidAs)}, which is no dtype of whole bytes`,
    { name: "voidAs", actual: voidAs },
  );
}
