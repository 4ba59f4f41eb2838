import {
  type DType,
  isTensorjarError,
  type Problem,
  type Tensor,
  TensorjarError,
} from "@tensorjar/core";
import { describe } from "@tensorjar/core/codec";
import { type LeafAdapter, type LoadOptions, type LoadReport, loadTree } from "@tensorjar/tree";
import type { VerifyOptions } from "./format.js";
import { below, listed } from "./json.js";
import { sameShape } from "./shape.js";
import { checkNames, isSnapshot, type Snapshot, type SnapshotOptions } from "./snapshot.js";
import { checkState, type LiveOptimizer, slotsOf, type TrainingState } from "./state.js";

export interface RestoreOptions extends VerifyOptions {
  /** For leaves that are not tensors, such as arrays on a device. */
  adapters?: readonly LeafAdapter[];
  statics?: "error" | "skip";
  /** Another dtype in the file: refused, taken as it is, or converted. */
  dtype?: "exact" | "keep" | "cast";
  /** `"any"` takes arrays of other shapes, in place of the live ones. */
  shape?: "exact" | "any";
  /** `"copy"` (default) writes into the live memory, `"replace"` puts the snapshot's arrays in place of the live ones. */
  assign?: "copy" | "replace";
  /** `"partial"` leaves alone what the file does not have, and out what the state does not have. */
  mode?: "strict" | "partial";
  /** The path in the state for a path in the file, both as problems name them: `params.PATH`, `optimizers.NAME.SLOT.PATH`. */
  rename?: (file: string) => string;
  /** How an `.npz` was told to call what the tree calls otherwise. */
  names?: SnapshotOptions["names"];
}

/**
 * Puts a snapshot into a live state, in place: parameters, slots, extra, steps. All or nothing: whatever does not fit,
 * of any kind, is listed in one `tree-mismatch` (`details.problems`, paths `params.…`, `optimizers.NAME.SLOT.…`), and
 * then nothing was changed; what is no snapshot or no state is `invalid-argument`. Configuration, metrics and hyperparameters are the snapshot's to read; none is set.
 */
export function restoreSnapshot(
  snapshot: Snapshot,
  state: TrainingState,
  options: RestoreOptions = {},
): LoadReport {
  if (!isSnapshot(snapshot)) {
    throw new TensorjarError("invalid-argument", `${describe(snapshot)} is no snapshot`, {
      hint: "loadCheckpoint, a format's load and takeSnapshot give one",
    });
  }
  checkState(state);
  const { adapters = [], assign = "copy", names, verify: _, ...rest } = options;
  checkNames(names);
  const toTree = names === undefined ? (name: string) => name : (n: string) => names.toTree(n);
  const steps = new Set<string>();
  const live = liveTree(state, options.statics, steps);
  const flat = flatten(snapshot, state, toTree, steps);
  const load: LoadOptions = { ...rest, assign, adapters: [stepAdapter, ...adapters] };
  const unfit = options.shape === "any" ? unfitMoments(snapshot, toTree) : [];
  const report = unfit.length > 0 ? refuse(live, flat, load, unfit) : loadTree(live, flat, load);
  return { ...report, loaded: report.loaded.filter((path) => !steps.has(path)) };
}

/** Adam's moments have the shape of their parameter, whatever shape that has. */
function unfitMoments(snapshot: Snapshot, toTree: (name: string) => string): Problem[] {
  const problems: Problem[] = [];
  for (const [name, { slots }] of snapshot.optimizers) {
    for (const slot of ["exp_avg", "exp_avg_sq"]) {
      for (const [group, { shape }] of slots.get(slot) ?? []) {
        const { params } = snapshot;
        // The gem's groups: of the parameter's name, or the one group `default` of an optimizer of its name.
        const param = params.get(group) ?? (group === "default" ? params.get(name) : undefined);
        if (param === undefined || sameShape(param.shape, shape)) continue;
        const path = below(`optimizers.${name}.${slot}`, toTree(group));
        problems.push({ kind: "shape", path, expected: param.shape, actual: shape });
      }
    }
  }
  return problems;
}

/** Throws `unfit` together with everything else that does not fit, which only an attempt to load can tell. */
function refuse(
  live: object,
  flat: Map<string, Tensor>,
  load: LoadOptions,
  unfit: readonly Problem[],
): never {
  // A leaf that can neither be filled nor replaced: the attempt fails before anything is changed.
  const barrier = "moments of other shapes than their parameters";
  define(live, barrier, { dtype: "uint8", shape: [0], data: new Uint8Array(0) });
  flat.set(barrier, { dtype: "uint8", shape: [1], data: new Uint8Array(1) });
  const problems = [...unfit];
  try {
    loadTree(live, flat, load);
  } catch (error) {
    if (!isTensorjarError(error, "tree-mismatch")) throw error;
    problems.unshift(...(error.details.problems ?? []).filter(({ path }) => path !== barrier));
  }
  const lines = problems.map(({ kind, path }) => `${kind} ${path}`);
  throw new TensorjarError(
    "tree-mismatch",
    `the checkpoint does not fit the training state, which is unchanged:${listed(lines)}`,
    { problems },
  );
}

/** A step of the live state as a leaf, so that it is compared, set and taken back together with the arrays. */
class StepLeaf {
  readonly #owner: object;
  readonly #key: string;

  constructor(owner: object, key: string) {
    this.#owner = owner;
    this.#key = key;
  }

  get(): unknown {
    return Reflect.get(this.#owner, this.#key);
  }

  set(step: unknown): void {
    assign(this.#owner, this.#key, step);
  }
}

/** Sets a field of the live state. Throws `tree-mismatch` where it is frozen. */
function assign(owner: object, key: string, value: unknown): void {
  if (Reflect.set(owner, key, value)) return;
  throw new TensorjarError("tree-mismatch", `${key} of the live state is read-only`, {
    problems: [{ kind: "read-only", path: key }],
    hint: "restore into a state that is not frozen",
  });
}

const stepAdapter: LeafAdapter<StepLeaf> = {
  is: (x): x is StepLeaf => x instanceof StepLeaf,
  shape: () => [],
  dtype: (): DType => "int64",
  read: (leaf) => stepTensor(Number(leaf.get())),
  write(leaf, tensor) {
    const before = leaf.get();
    leaf.set(Number(tensor.data[0]));
    return { undo: () => leaf.set(before) };
  },
};

function stepTensor(step: number): Tensor {
  return { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(step)) };
}

/** The live state as one tree whose fields are those of the state: what replaces a whole tree replaces it there. */
function liveTree(
  state: TrainingState,
  statics: "error" | "skip" | undefined,
  steps: Set<string>,
): object {
  const optimizers: { [name: string]: object } = {};
  for (const [name, live] of Object.entries(state.optimizers)) {
    const fields = forwarding(live, slotsOf(name, live, statics));
    define(fields, "step", liveSteps(live, `optimizers.${name}.step`, steps));
    define(optimizers, name, fields);
  }
  const tree = forwarding(state, state.extra === undefined ? ["params"] : ["params", "extra"]);
  steps.add("step");
  define(tree, "step", new StepLeaf(state, "step"));
  define(tree, "optimizers", optimizers);
  return tree;
}

function liveSteps(live: LiveOptimizer, path: string, steps: Set<string>): object {
  if (typeof live.step !== "object" || live.step === null) {
    steps.add(path);
    return new StepLeaf(live, "step");
  }
  const leaves = {};
  for (const key of Object.keys(live.step)) {
    steps.add(below(path, key));
    define(leaves, key, new StepLeaf(live.step, key));
  }
  return leaves;
}

function forwarding(owner: object, keys: readonly string[]): object {
  const fields = {};
  for (const key of keys) {
    Object.defineProperty(fields, key, {
      enumerable: true,
      get: (): unknown => Reflect.get(owner, key),
      set: (value: unknown) => assign(owner, key, value),
    });
  }
  return fields;
}

/** Sets a field of any name, also `__proto__`. */
function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { enumerable: true, value });
}

/** Everything a snapshot restores, by the paths of {@link liveTree}. Throws `duplicate-name`. */
function flatten(
  snapshot: Snapshot,
  state: TrainingState,
  toTree: (name: string) => string,
  steps: Set<string>,
): Map<string, Tensor> {
  const flat = new Map<string, Tensor>();
  const add = (path: string, tensor: Tensor): void => {
    if (flat.has(path)) {
      throw new TensorjarError("duplicate-name", `the snapshot has two arrays for ${path}`, {
        name: path,
        hint: "a name that holds a dot and nested names make the same path; rename one",
      });
    }
    flat.set(path, tensor);
  };
  const addStep = (path: string, step: number): void => {
    steps.add(path);
    add(path, stepTensor(step));
  };
  for (const [path, tensor] of snapshot.params) add(below("params", toTree(path)), tensor);
  for (const [path, tensor] of snapshot.extra) add(below("extra", path), tensor);
  for (const [name, { step, slots }] of snapshot.optimizers) {
    const prefix = `optimizers.${name}`;
    for (const [slot, tensors] of slots) {
      for (const [path, tensor] of tensors) add(below(`${prefix}.${slot}`, toTree(path)), tensor);
    }
    const live = Object.hasOwn(state.optimizers, name) ? state.optimizers[name]?.step : undefined;
    const wanted = stepsAsLive(step, live);
    if (typeof wanted === "number") addStep(`${prefix}.step`, wanted);
    else for (const [path, n] of wanted) addStep(below(`${prefix}.step`, toTree(path)), n);
  }
  addStep("step", snapshot.step);
  return flat;
}

/** Steps in the form that the live optimizer counts in, where they say the same in it. */
function stepsAsLive(
  saved: number | ReadonlyMap<string, number>,
  live: LiveOptimizer["step"] | undefined,
): number | ReadonlyMap<string, number> {
  if (typeof live === "number" && typeof saved !== "number") {
    const [first] = saved.values();
    const same = first !== undefined && [...saved.values()].every((step) => step === first);
    return same ? first : saved;
  }
  if (typeof live === "object" && typeof saved === "number") {
    return new Map(Object.keys(live).map((path) => [path, saved]));
  }
  return saved;
}
