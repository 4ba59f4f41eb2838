import { TensorjarError } from "./error.js";
import { type AnyArray, ofType } from "./tensor.js";

/** The runtime's `Float16Array`; where its types know none, what every typed array of numbers has. */
export type Float16ArrayLike = typeof globalThis extends { Float16Array: { prototype: infer T } }
  ? T
  : ArrayBufferView & ArrayLike<number> & Iterable<number>;

/**
 * A `Float16Array` on the memory of a float16 tensor. Throws `unsupported` where the runtime has none,
 * `invalid-dtype` for another dtype, `not-found` for `undefined`.
 */
export function asFloat16Array(t: AnyArray): Float16ArrayLike {
  const { data } = ofType(t, "float16");
  const Class: unknown = Reflect.get(globalThis, "Float16Array");
  if (typeof Class !== "function") {
    throw new TensorjarError("unsupported", "this runtime has no Float16Array", {
      hint: "toFloat32 converts the numbers",
    });
  }
  return Reflect.construct(Class, [data.buffer, data.byteOffset, data.length]);
}
