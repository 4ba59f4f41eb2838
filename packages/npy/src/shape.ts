import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import type { Literal } from "./literal.js";

/** A shape of at most 64 axes, NumPy's limit; `text` is what it was read from. Throws `invalid-shape`. */
export function parseShape(dims: Literal, text: string): readonly number[] {
  if (Array.isArray(dims) && dims.length <= 64) {
    const shape = dims.map((dim) => (typeof dim === "bigint" ? Number(dim) : -1));
    if (shape.every((dim) => dim >= 0 && Number.isSafeInteger(dim))) return shape;
  }
  throw new TensorjarError(
    "invalid-shape",
    `the shape ${quote(text)} is not a tuple of at most 64 integers from 0 to 2^53-1`,
  );
}

/** Bytes of an array. Throws `invalid-shape` past 2^53−1, also on the way to an axis of 0, as NumPy and core do. */
export function bytesOf(shape: readonly number[], itemSize: number): number {
  let count = 1;
  for (const dim of shape) if (count <= Number.MAX_SAFE_INTEGER) count *= dim;
  const bytes = count * itemSize;
  if (bytes <= Number.MAX_SAFE_INTEGER) return bytes;
  throw new TensorjarError("invalid-shape", `the shape (${shape}) takes over 2^53-1 bytes`);
}
