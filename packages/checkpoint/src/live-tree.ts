import type { DType, Tensor } from "@tensorjar/core";
import type { LeafAdapter } from "@tensorjar/tree";
import { readOnlyProblem, treeMismatch } from "@tensorjar/tree/codec";
import { checkRecord, type LiveOptimizer, slotsOf, type TrainingState } from "./state.js";

/** A step of the live state as a leaf, so that it is compared, set and taken back together with the arrays. */
export class StepLeaf {
  readonly #owner: object;
  readonly #key: string;
  readonly #path: string;

  constructor(owner: object, key: string, path: string) {
    this.#owner = owner;
    this.#key = key;
    this.#path = path;
  }

  get settable(): boolean {
    return isSettable(this.#owner, this.#key);
  }

  /** Returns what takes it back. */
  set(step: number): () => void {
    const [owner, key] = [this.#owner, this.#key];
    const known = key in owner;
    const before: unknown = Reflect.get(owner, key);
    const undo = (): void => {
      if (known) Reflect.set(owner, key, before);
      else Reflect.deleteProperty(owner, key);
    };
    try {
      assign(owner, key, step, this.#path);
    } catch (error) {
      undo(); // a setter that throws may have begun
      throw error;
    }
    return undo;
  }
}

/** Whether a field can be set: it is there to be written, has a setter, or is one that the object would take on. */
function isSettable(owner: object, key: string): boolean {
  let holder: object | null = owner;
  for (; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const field = Object.getOwnPropertyDescriptor(holder, key);
    if (field === undefined) continue;
    if (field.set !== undefined) return true;
    return field.writable === true && (holder === owner || Object.isExtensible(owner));
  }
  return Object.isExtensible(owner);
}

/** Sets a field of the live state, `path` in messages. Throws `tree-mismatch` where that cannot be set after all. */
function assign(owner: object, key: string, value: unknown, path: string): void {
  if (!Reflect.set(owner, key, value)) throw treeMismatch([readOnlyProblem(path)]);
}

export const stepAdapter: LeafAdapter<StepLeaf> = {
  is: (x): x is StepLeaf => x instanceof StepLeaf,
  shape: () => [],
  dtype: (): DType => "int64",
  read: () => stepTensor(0), // loading reads no leaf
  write: (leaf, tensor) => ({ undo: leaf.set(Number(tensor.data[0])) }),
};

export function stepTensor(step: number): Tensor {
  return { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(step)) };
}

/** The live state as one tree whose fields are those of the state, and its steps by their paths. */
export function liveTree(
  state: TrainingState,
  statics: "error" | "skip" | undefined,
): { tree: object; steps: ReadonlyMap<string, StepLeaf> } {
  const steps = new Map<string, StepLeaf>();
  const stepLeaf = (owner: object, key: string, path: string): StepLeaf => {
    const leaf = new StepLeaf(owner, key, path);
    steps.set(path, leaf);
    return leaf;
  };
  const optimizers: { [name: string]: object } = {};
  for (const [name, live] of Object.entries(state.optimizers)) {
    const path = `optimizers.${name}`;
    const fields = forwarding(live, slotsOf(name, live, statics), `${path}.`);
    const byPath = stepsByPath(live, path);
    let leaves: object = {};
    if (byPath === undefined) leaves = stepLeaf(live, "step", `${path}.step`);
    else {
      for (const key of Object.keys(byPath))
        define(leaves, key, stepLeaf(byPath, key, `${path}.step.${key}`));
    }
    define(fields, "step", leaves);
    define(optimizers, name, fields);
  }
  const tree = forwarding(state, state.extra === undefined ? ["params"] : ["params", "extra"], "");
  define(tree, "step", stepLeaf(state, "step", "step"));
  define(tree, "optimizers", optimizers);
  return { tree, steps };
}

/** The steps of a live optimizer that counts by path. Throws `invalid-argument` for other containers than objects. */
export function stepsByPath({ step }: LiveOptimizer, path: string): object | undefined {
  if (typeof step !== "object" || step === null) return undefined;
  checkRecord(step, `${path}.step`, "a number, or an object of numbers by path");
  return step;
}

function forwarding(owner: object, keys: readonly string[], prefix: string): object {
  const fields = {};
  for (const key of keys) {
    Object.defineProperty(fields, key, {
      enumerable: true,
      get: (): unknown => Reflect.get(owner, key),
      ...(isSettable(owner, key) && {
        set: (value: unknown) => assign(owner, key, value, prefix + key),
      }),
    });
  }
  return fields;
}

/** Sets a field of any name, also `__proto__`. */
function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { enumerable: true, value });
}
