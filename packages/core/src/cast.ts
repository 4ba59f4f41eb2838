import { castEach, storeFloats } from "./cast-each.js";
import { checkedTensor } from "./convert.js";
import type { DType } from "./dtype.js";
import { eachBlock, numberCount } from "./numbers.js";
import { readFloat32 } from "./read-numbers.js";
import { isSmallFloat, type SmallFloat } from "./small-float.js";
import { storeFloat32 } from "./store-numbers.js";
import type { AnyArray, Tensor, TensorOf } from "./tensor.js";

/**
 * The numbers of `t` in another dtype, in memory of their own (also where the dtype is the same).
 * To floats: one rounding to nearest even; past the range as NumPy and ml_dtypes do (infinity; NaN for
 * float8_e4m3fn and the fnuz types, which have no infinity; the largest number for float4; NaN for what
 * float8_e8m0fnu cannot hold: zero, negatives), a NaN keeps its sign. To integers: truncated.
 * To bool: whether it is not zero. Real to complex: with 0 as imaginary part.
 * Throws `invalid-argument`, naming the first element, for a number that an integer dtype does not hold; for complex
 * numbers as real ones, which would lose a part; `unsupported` for the float6s; `invalid-dtype`; `not-found` for `undefined`.
 */
export function cast<D extends DType>(t: AnyArray, dtype: D): TensorOf<D> {
  return castEach(checkedTensor(t), dtype, storeFast);
}

/** The pairs of dtypes that models are stored in and computed with, by tables and unrolled loops. */
function storeFast(from: Tensor, made: Tensor): void {
  if (made.dtype === "float32" || made.dtype === "complex64") readFloat32(from, 0, made.data);
  else if (isSmall(made) && (isSmall(from) || from.dtype === "float32")) {
    eachBlock(numberCount(from), Float32Array, (numbers, start) => {
      readFloat32(from, start, numbers);
      storeFloat32(made, start, numbers);
    });
  } else storeFloats(from, made);
}

function isSmall(tensor: Tensor): tensor is Tensor<SmallFloat> {
  return isSmallFloat(tensor.dtype);
}
