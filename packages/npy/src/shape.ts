import { TensorjarError } from "@tensorjar/core";
import { kindOf, type Literal } from "./literal.js";

/** A shape of at most 64 axes, NumPy's limit. Throws `invalid-shape`. */
export function parseShape(dims: readonly Literal[]): readonly number[] {
  if (dims.length > 64) throw invalid(`a shape has ${dims.length} axes, more than 64`);
  return dims.map((dim) => {
    if (typeof dim === "number" && dim >= 0) return dim;
    throw invalid(`a shape holds ${kindOf(dim)}, not an integer from 0 to 2^53-1`);
  });
}

/** Bytes of an array. Throws `invalid-shape` past 2^53−1, which no array without elements is. */
export function bytesOf(shape: readonly number[], itemSize: number): number {
  const bytes = shape.includes(0) ? 0 : shape.reduce((size, dim) => size * dim, itemSize);
  if (bytes <= Number.MAX_SAFE_INTEGER) return bytes;
  throw invalid(`the shape (${shape}) takes more than 2^53-1 bytes`);
}

function invalid(message: string): TensorjarError {
  return new TensorjarError("invalid-shape", message);
}
