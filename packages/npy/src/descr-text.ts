import { elementCount, TensorjarError } from "@tensorjar/core";
import { describe, isDType, quote } from "@tensorjar/core/codec";
import { type ElementType, parseDescr, sizeOf } from "./descr.js";
import { stringRepr, tupleRepr } from "./python.js";

/**
 * The descr of an element type as `np.save` writes it, in Python's text. `asVoid` writes bfloat16 and float8 as void.
 * Throws `unsupported`, `invalid-dtype`, and for fields that NumPy cannot describe `invalid-argument`,
 * `invalid-offsets`, `invalid-name`, `duplicate-name`.
 */
export function descrText(element: ElementType, asVoid = false): string {
  if (element.dtype === "struct") return structText(element, asVoid);
  const text = scalarText(element, asVoid);
  const { itemSize, unit } = parseDescr(text);
  if (itemSize !== element.itemSize || (unit ?? "") !== (element.unit ?? "")) {
    throw new TensorjarError(
      "invalid-dtype",
      `${element.dtype} of ${element.itemSize} bytes${element.unit ? ` and unit ${quote(element.unit)}` : ""} has no name in .npy`,
      { expected: itemSize, actual: element.itemSize },
    );
  }
  return stringRepr(text);
}

function scalarText({ dtype, itemSize, byteOrder, unit }: ElementType, asVoid: boolean): string {
  const order = byteOrder === "big" ? ">" : "<";
  if (dtype === "string") return `${order}U${itemSize / 4}`;
  if (dtype === "bytes") return `|S${itemSize}`;
  if (dtype === "void") return `|V${itemSize}`;
  if (dtype === "datetime64" || dtype === "timedelta64") {
    return `${order}${dtype === "datetime64" ? "M" : "m"}8${unit ? `[${unit}]` : ""}`;
  }
  if (!isDType(dtype)) {
    throw new TensorjarError("invalid-dtype", `the dtype ${quote(String(dtype))} is not known`, {
      actual: dtype,
    });
  }
  const bytes = sizeOf(dtype);
  const isNumPys = dtype !== "bfloat16" && !dtype.includes("_"); // the others are of ml_dtypes
  if (isNumPys) return `${bytes === 1 ? "|" : order}${dtype[0]}${bytes}`;
  if (!asVoid || bytes < 1) {
    throw new TensorjarError("unsupported", `${dtype} has no name in .npy`, {
      actual: dtype,
      hint: `save it as safetensors, or cast it to float32 first${bytes < 1 ? "" : "; encodeNpy with asVoid writes its bits, which voidAs reads"}`,
    });
  }
  return `<V${bytes}`; // as NumPy writes the arrays of ml_dtypes
}

function structText({ itemSize, fields }: ElementType, asVoid: boolean): string {
  if (!Array.isArray(fields)) {
    throw new TensorjarError(
      "invalid-argument",
      `the fields of a struct are ${describe(fields)}, not an array of fields`,
    );
  }
  const parts: string[] = [];
  const names = new Set<string>();
  let end = 0;
  const pad = (to: number): void => {
    if (to > end) parts.push(`('', '|V${to - end}')`);
    end = to;
  };
  for (const field of fields) {
    if (!Array.isArray(field?.shape)) {
      throw new TensorjarError("invalid-argument", "a field of a struct has no shape");
    }
    const { name, title, offset, shape } = field;
    const where = `field ${typeof name === "string" ? quote(name) : describe(name)}`;
    for (const label of title === undefined ? [name] : [name, title]) {
      if (typeof label !== "string") {
        throw new TensorjarError("invalid-name", `the name of ${where} is not a string`);
      }
      if (names.has(label)) {
        throw new TensorjarError(
          "duplicate-name",
          `a struct has two fields named ${quote(label)}`,
          {
            name: label,
          },
        );
      }
      names.add(label);
    }
    if (!Number.isSafeInteger(offset) || offset < end) {
      throw new TensorjarError(
        "invalid-offsets",
        `${where} starts at ${offset}, the field before it ends at ${end}`,
        { name, expected: end, actual: offset },
      );
    }
    if (name === "" && title === undefined && (field.dtype === "void" || shape.length > 0)) {
      throw new TensorjarError(
        "invalid-name",
        "a void field or a sub-array without a name would be read as padding",
        { name },
      );
    }
    pad(offset);
    const label =
      title === undefined ? stringRepr(name) : `(${stringRepr(title)}, ${stringRepr(name)})`;
    const dims = shape.length === 0 ? "" : `, ${tupleRepr(shape)}`;
    parts.push(`(${label}, ${descrText(field, asVoid)}${dims})`);
    end += field.itemSize * elementCount(shape);
  }
  if (!Number.isSafeInteger(itemSize) || itemSize < end) {
    throw new TensorjarError(
      "invalid-offsets",
      `the fields of a struct take ${end} bytes, its itemSize is ${itemSize}`,
      { expected: end, actual: itemSize },
    );
  }
  pad(itemSize);
  return `[${parts.join(", ")}]`;
}
