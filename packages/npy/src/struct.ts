import { elementCount, TensorjarError } from "@tensorjar/core";
import { allocate, describe, quote } from "@tensorjar/core/codec";
import type { NpyArray, NpyStruct } from "./array.js";
import { arrayOf } from "./decode.js";

/**
 * One field of structured data, copied out and little-endian; of shape `[...array.shape, ...field.shape]`.
 * A nested struct stays a struct. Throws `invalid-dtype`, `not-found`, `invalid-shape`, and `invalid-utf8` for text that is none.
 */
export function structField(array: NpyStruct, name: string): NpyArray {
  if (array?.dtype !== "struct") {
    throw new TensorjarError("invalid-dtype", `${describe(array)} is no array of structs`, {
      expected: "struct",
    });
  }
  const field = array.fields.find((candidate) => candidate.name === name);
  if (field === undefined) {
    throw new TensorjarError("not-found", `the struct has no field ${quote(name)}`, {
      name,
      expected: array.fields.map((candidate) => candidate.name),
    });
  }
  const { data, itemSize } = array;
  const items = elementCount(array.shape);
  const inner = elementCount(field.shape);
  const size = field.itemSize * inner;
  if (data.length !== items * itemSize || field.offset + size > itemSize) {
    throw new TensorjarError(
      "invalid-shape",
      `field ${quote(name)} does not lie within ${items} structs of ${itemSize} bytes in ${data.length} bytes of data`,
      { name, expected: items * itemSize, actual: data.length },
    );
  }
  const bytes = allocate(items * size);
  for (let item = 0; size > 0 && item < items; item++) {
    const start = item * itemSize + field.offset;
    bytes.set(data.subarray(start, start + size), item * size);
  }
  return arrayOf(field, [...array.shape, ...field.shape], items * inner, bytes, true);
}
