import { type DType, type Tensor, TensorjarError, tensor } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";
import type { LeafAdapter } from "./leaf.js";
import { treeNode } from "./visit.js";

/** A `tf.Tensor`, as far as it is used here. */
export interface TfTensor {
  readonly shape: number[];
  readonly dtype: string;
  dataSync(): unknown;
  data(): Promise<unknown>;
  dispose(): void;
}

/** A `tf.Variable`, as far as it is used here. */
export interface TfVariable extends TfTensor {
  readonly name: string;
  readonly trainable: boolean;
  assign(value: TfTensor): void;
}

/** What is used of the namespace that `import * as tf from "@tensorflow/tfjs"` (or `tfjs-core`) gives. */
export interface TensorFlow {
  tensor(values: TfValues, shape: number[], dtype: "float32" | "int32" | "bool"): TfTensor;
  complex(real: unknown, imag: unknown): TfTensor;
  keep(tensor: unknown): TfTensor;
}

/** A `tf.LayersModel` or a layer, as far as it is used here. */
export interface TfModel {
  readonly weights: readonly TfWeight[];
  readonly trainableWeights: readonly TfWeight[];
}

export interface TfWeight {
  /** As it was given, before tfjs made it unique in the process. */
  readonly originalName: string;
  read(): TfTensor;
}

/** A `tf.Optimizer`, as far as it is used here. */
export interface TfOptimizer {
  readonly iterations: number;
  applyGradients(gradients: unknown): void;
}

type TfValues = Float32Array | Int32Array | Uint8Array;

/** The number of updates of an optimizer, which tfjs keeps as a field and not as a tensor. */
class Iterations {
  readonly optimizer: TfOptimizer;
  constructor(optimizer: TfOptimizer) {
    this.optimizer = optimizer;
  }
  get value(): number {
    return Number(Reflect.get(this.optimizer, "iterations_") ?? 0);
  }
  set value(value: number) {
    Reflect.set(this.optimizer, "iterations_", value);
  }
}

type TfLeaf = TfTensor | Iterations;

/**
 * Makes the tensors and variables of TensorFlow.js leaves of a tree. A variable is loaded in place, a plain tensor
 * replaced by a new one that is kept; the old one is the caller's to dispose. With `async` tensors are read with
 * `data()`, for `flattenTreeAsync`, otherwise with `dataSync()`.
 * Reading throws `unsupported` for strings, loading for a variable that would change its shape or dtype.
 */
export function tfjsAdapter(
  tf: TensorFlow,
  options: { async?: boolean } = {},
): LeafAdapter<TfLeaf> {
  return {
    is: (x): x is TfLeaf => x instanceof Iterations || isTfTensor(x),
    shape: (x) => (x instanceof Iterations ? [] : x.shape),
    dtype: (x) => (x instanceof Iterations ? "int32" : dtypeOf(x)),
    trainable: (x) => !(x instanceof Iterations) && (!isVariable(x) || x.trainable),
    read(x) {
      if (x instanceof Iterations) return tensor(Int32Array.of(x.value), []);
      if (options.async !== true) return readSync(x);
      const [shape, dtype] = [[...x.shape], dtypeOf(x)];
      return x.data().then((values) => fromValues(values, shape, dtype));
    },
    write(x, given) {
      if (x instanceof Iterations) {
        const before = x.value;
        x.value = Number(given.data[0]);
        return {
          undo: () => {
            x.value = before;
          },
        };
      }
      if (!isVariable(x)) return { replace: tf.keep(toTfjs(tf, given)) };
      if (x.dtype !== given.dtype || x.shape.join() !== given.shape.join()) {
        throw new TensorjarError(
          "unsupported",
          `the variable ${quote(x.name)} cannot change its shape or dtype`,
          {
            name: x.name,
            hint: 'load with shape: "exact" and dtype: "exact" or "cast"',
          },
        );
      }
      // A copy in memory of our own: nothing tells when a tensor kept for undoing could be disposed.
      const before = readSync(x);
      assign(tf, x, given);
      return { undo: () => assign(tf, x, before) };
    },
  };
}

/** The weights of a model or layer as a node of a tree, by the names they were given: `dense/kernel`. */
export function tfjsModel(model: TfModel): object {
  return {
    [treeNode]: () => distinct(model.weights.map((weight) => [weight.originalName, weight.read()])),
  };
}

/**
 * The state of an optimizer as a node of a tree: `iter`, its own variables (`accBeta1`), and its slots by the names
 * of the variables they belong to (`dense/kernel/m`), so that it does not matter in which order a file has them.
 * `variables` are those the optimizer updates, in the order it is given them: a compiled model, or what
 * `minimize(f, false, variables)` gets. An optimizer that has taken no step yet gets the slots it would start with.
 * Throws `invalid-argument` for an optimizer whose slots belong to other variables.
 */
export function tfjsOptimizer(
  tf: TensorFlow,
  optimizer: TfOptimizer,
  variables: TfModel | readonly TfVariable[],
): object {
  const pairs =
    "trainableWeights" in variables
      ? variables.trainableWeights.map((weight) => [weight.originalName, weight.read()] as const)
      : variables.map((variable) => [variable.name, variable] as const);
  return {
    [treeNode]() {
      if (slotsOf(optimizer).length === 0) startSlots(tf, optimizer, pairs);
      return stateOf(optimizer, pairs);
    },
  };
}

type Pairs = readonly (readonly [name: string, leaf: TfTensor])[];

function distinct<T>(pairs: Iterable<readonly [string, T]>): Map<string, T> {
  const map = new Map<string, T>();
  for (const [name, value] of pairs) {
    if (map.has(name)) {
      throw new TensorjarError("duplicate-name", `two variables are called ${quote(name)}`, {
        name,
        hint: "name the layers when the model is built",
      });
    }
    map.set(name, value);
  }
  return map;
}

/** One kind of accumulator: an array parallel to the variables. */
type Slots = readonly { readonly originalName: string; readonly variable: TfVariable }[];

function slotsOf(optimizer: TfOptimizer): Slots[] {
  const isSlot = (x: unknown) =>
    typeof x === "object" && x !== null && "originalName" in x && "variable" in x;
  return Object.values(optimizer).filter(
    (field) => Array.isArray(field) && field.length > 0 && field.every(isSlot),
  );
}

/** The variables that are an optimizer's own, such as the running powers of its betas. */
function ownVariables(optimizer: TfOptimizer): [string, TfVariable][] {
  return Object.entries(optimizer).filter(([, field]) => isTfTensor(field) && isVariable(field));
}

/** Lets tfjs make the slots, by a step without any gradient, and takes back what such a step counts. */
function startSlots(tf: TensorFlow, optimizer: TfOptimizer, pairs: Pairs): void {
  const iterations = new Iterations(optimizer);
  const before = iterations.value;
  const own = ownVariables(optimizer).map(
    ([, variable]) => [variable, readSync(variable)] as const,
  );
  optimizer.applyGradients(
    pairs.map(([, variable]) => ({ name: String(Reflect.get(variable, "name")), tensor: null })),
  );
  iterations.value = before;
  for (const [variable, values] of own) assign(tf, variable, values);
}

function stateOf(optimizer: TfOptimizer, pairs: Pairs): Map<string, TfLeaf> {
  const state: [string, TfLeaf][] = [
    ["iter", new Iterations(optimizer)],
    ...ownVariables(optimizer),
  ];
  for (const slots of slotsOf(optimizer)) {
    const fits = slots.every(
      ({ variable }, i) => variable.shape.join() === pairs[i]?.[1].shape.join(),
    );
    if (slots.length !== pairs.length || !fits) {
      throw new TensorjarError(
        "invalid-argument",
        `the optimizer has ${slots.length} slots such as ${quote(slots[0]?.originalName ?? "")}, which do not fit the ${pairs.length} variables given`,
        { hint: "give the variables that it updates, in the order in which it gets them" },
      );
    }
    for (const [i, { originalName, variable }] of slots.entries()) {
      const slot = originalName.slice(originalName.lastIndexOf("/") + 1);
      state.push([`${pairs[i]?.[0]}/${slot}`, variable]);
    }
  }
  return distinct(state);
}

function isTfTensor(x: unknown): x is TfTensor {
  return (
    typeof x === "object" &&
    x !== null &&
    "dataSync" in x &&
    "shape" in x &&
    "dtype" in x &&
    "throwIfDisposed" in x
  );
}

function isVariable(x: TfTensor): x is TfVariable {
  return "assign" in x && "trainable" in x;
}

const dtypes: { readonly [name: string]: DType } = {
  float32: "float32",
  int32: "int32",
  bool: "bool",
  complex64: "complex64",
};

function dtypeOf(x: TfTensor): DType {
  const dtype = dtypes[x.dtype];
  if (dtype !== undefined) return dtype;
  throw new TensorjarError("unsupported", `a TensorFlow.js tensor of ${x.dtype} holds no numbers`);
}

function readSync(x: TfTensor): Tensor {
  return fromValues(x.dataSync(), [...x.shape], dtypeOf(x));
}

/** A copy: the CPU backend hands out the memory of its tensors. */
function fromValues(values: unknown, shape: number[], dtype: DType): Tensor {
  if (!isValues(values))
    throw new TensorjarError("unsupported", `TensorFlow.js gave ${describe(values)} as values`);
  return tensor(values.slice(), shape, dtype) as Tensor; // the union over what the dtype may be
}

function isValues(x: unknown): x is TfValues {
  return x instanceof Float32Array || x instanceof Int32Array || x instanceof Uint8Array;
}

/** A new tensor; the data is copied, because the CPU backend would keep it. */
function toTfjs(tf: TensorFlow, { dtype, shape, data }: Tensor): TfTensor {
  switch (dtype) {
    case "float32":
    case "int32":
    case "bool":
      return tf.tensor(data.slice(), [...shape], dtype);
    case "complex64": {
      const part = (first: number) =>
        tf.tensor(
          data.filter((_, i) => i % 2 === first),
          [...shape],
          "float32",
        );
      const [real, imag] = [part(0), part(1)];
      const complex = tf.complex(real, imag);
      real.dispose();
      imag.dispose();
      return complex;
    }
    default:
      throw new TensorjarError("unsupported", `TensorFlow.js has no ${dtype}`, {
        hint: 'load with dtype: "cast"',
      });
  }
}

function assign(tf: TensorFlow, variable: TfVariable, given: Tensor): void {
  const value = toTfjs(tf, given);
  variable.assign(value);
  value.dispose();
}
