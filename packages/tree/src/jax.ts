import { type DType, type Tensor, TensorjarError, tensor } from "@tensorjar/core";
import { describe, tensorFromBytes, toBytes } from "@tensorjar/core/codec";
import type { LeafAdapter } from "./leaf.js";

/** A jax-js array, as far as it is used here. */
export interface JaxArray {
  readonly shape: number[];
  readonly dtype: string;
  readonly device: string;
  /** The same array with one more reference, for a method to consume. */
  readonly ref: JaxArray;
  dataSync(): unknown;
  data(): Promise<unknown>;
}

/** What is used of the namespace that `import * as jax from "@jax-js/jax"` gives. */
export interface Jax {
  readonly Array: abstract new (...args: never[]) => JaxArray;
  readonly numpy: {
    array(values: ArrayBufferView, options?: JaxOptions): JaxArray;
    zeros(shape: number[], options?: JaxOptions): JaxArray;
  };
}

export interface JaxOptions {
  shape?: number[];
  dtype?: string;
  device?: string;
}

/**
 * Makes the arrays of jax-js leaves of a tree. Reading consumes no reference. Arrays cannot be written to: a loaded
 * leaf is replaced by a new array on the same device, and the old one keeps its references, which are the caller's
 * to dispose. With `async` arrays are read with `data()`, for `flattenTreeAsync`, otherwise with `dataSync()`.
 * Throws `unsupported` for a dtype that jax-js lacks, and for float16 where the runtime lacks `Float16Array`.
 */
export function jaxAdapter(jax: Jax, options: { async?: boolean } = {}): LeafAdapter<JaxArray> {
  return {
    is: (x): x is JaxArray => x instanceof jax.Array,
    shape: (x) => x.shape,
    dtype: (x) => dtypeOf(x),
    read(x) {
      const [shape, dtype] = [[...x.shape], dtypeOf(x)];
      if (options.async !== true) return fromValues(x.ref.dataSync(), shape, dtype);
      return x.ref.data().then((values) => fromValues(values, shape, dtype));
    },
    write(x, given) {
      const shape = [...given.shape];
      const how = { shape, dtype: given.dtype, device: x.device };
      const values = toValues(given);
      // jax-js makes no array of no values.
      const empty = given.data.length === 0;
      return { replace: empty ? jax.numpy.zeros(shape, how) : jax.numpy.array(values, how) };
    },
  };
}

const dtypes: { readonly [name: string]: DType } = {
  bool: "bool",
  int32: "int32",
  uint32: "uint32",
  float16: "float16",
  float32: "float32",
  float64: "float64",
};

function dtypeOf(x: JaxArray): DType {
  return dtypes[x.dtype] ?? unknownDType(x.dtype);
}

function unknownDType(dtype: string): never {
  throw new TensorjarError("unsupported", `jax-js arrays of ${dtype} have no counterpart`, {
    hint: 'load with dtype: "cast"',
  });
}

/** jax-js gives a copy: booleans as 32-bit integers, float16 as a `Float16Array`, whose bits are ours. */
function fromValues(values: unknown, shape: number[], dtype: DType): Tensor {
  if (!ArrayBuffer.isView(values))
    throw new TensorjarError("unsupported", `jax-js gave ${describe(values)} as values`);
  const bytes = toBytes(values);
  if (dtype !== "bool") return tensorFromBytes(dtype, shape, bytes) as Tensor; // the union over what it may be
  const integers = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  return tensor(Uint8Array.from(integers), shape, "bool");
}

function toValues({ dtype, data }: Tensor): ArrayBufferView {
  if (dtype === "bool") return Int32Array.from(data, (byte) => (byte === 0 ? 0 : 1));
  if (dtype !== "float16") return dtypes[dtype] === undefined ? unknownDType(dtype) : data;
  const Half: unknown = Reflect.get(globalThis, "Float16Array");
  if (typeof Half !== "function") {
    throw new TensorjarError(
      "unsupported",
      "jax-js takes float16 as a Float16Array, which this runtime lacks",
    );
  }
  return Reflect.construct(Half, [data.buffer, data.byteOffset, data.length]);
}
