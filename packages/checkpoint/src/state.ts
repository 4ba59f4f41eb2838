import { type Tensor, TensorjarError } from "@tensorjar/core";
import { checkTensor, classTag, describe, quote } from "@tensorjar/core/codec";
import { flattenTree, flattenTreeAsync, type LeafAdapter, type TreeOptions } from "@tensorjar/tree";
import { below, checkStep, copyJson } from "./json.js";
import type { OptimizerSnapshot, Snapshot } from "./snapshot.js";

/** Any tree of arrays: what `flattenTree` takes. */
export type Tree = object;

/** Updates made: by the optimizer as a whole, or for each parameter by its path. */
export type Steps = number | { [path: string]: number };

/**
 * An optimizer as it trains: every key but `step` and `hyperparameters` is a slot, a tree parallel to the parameters
 * (Adam: `exp_avg`, `exp_avg_sq`, optionally `max_exp_avg_sq`). A parameter without state yet is left out of the slots.
 */
export type LiveOptimizer = { step: Steps; [slot: string]: unknown } | { step: Steps };

/** What a run trains: saved from, restored into, the same object everywhere. */
export interface TrainingState {
  params: Tree;
  optimizers: Record<string, LiveOptimizer>;
  /** Completed updates: an integer from 0 to 2^53−1. */
  step: number;
  /** Anything JSON holds; `{}` when absent. */
  config?: unknown;
  metrics?: Readonly<Record<string, number>>;
  /** Arrays beside the parameters: running statistics, the state of a random generator. */
  extra?: Tree;
}

export interface StateOptions {
  /** For leaves that are not tensors, such as arrays on a device. */
  adapters?: readonly LeafAdapter[];
  /** What numbers among the arrays do: `"error"` (they would be lost) or `"skip"`. */
  statics?: "error" | "skip";
}

/** The slots of a live optimizer: its own keys but two, those that hold nothing left out. */
export function slotsOf(
  name: string,
  optimizer: object,
  statics: "error" | "skip" = "error",
): string[] {
  return ownEntries(optimizer)
    .filter(([slot, value]) => {
      if (slot === "step" || slot === "hyperparameters") return false;
      if (typeof value === "object") return value !== null;
      const path = `optimizers.${name}.${slot}`;
      if (statics === "error" && /^(number|bigint|boolean)$/.test(typeof value)) {
        throw new TensorjarError(
          "invalid-argument",
          `${path} is ${describe(value)}, not a tree of arrays`,
          {
            path,
            hint: "put settings under `hyperparameters`; every other key of an optimizer besides `step` is a slot",
          },
        );
      }
      return false;
    })
    .map(([slot]) => slot);
}

/** A tree of the state that is still to be flattened, and where its leaves go. */
interface Part {
  readonly path: string;
  readonly tree: unknown;
  readonly into: Map<string, Tensor>;
}

/**
 * The state as a snapshot whose arrays are still the live ones, to be copied before anything else runs.
 * Throws `invalid-argument` and what `flattenTree` throws, naming the path.
 */
export function readState(state: TrainingState, options: StateOptions = {}): Snapshot {
  const { snapshot, parts } = plan(state, options);
  for (const part of parts) fill(part, flattenTree(part.tree, treeOptions(part, options)));
  return snapshot;
}

/** As {@link readState}, for adapters that read from a device: the state must not change until it resolves. */
export async function readStateAsync(
  state: TrainingState,
  options: StateOptions = {},
): Promise<Snapshot> {
  const { snapshot, parts } = plan(state, options);
  await Promise.all(
    parts.map(async (part) => {
      fill(part, await flattenTreeAsync(part.tree, treeOptions(part, options)));
    }),
  );
  return snapshot;
}

function treeOptions(part: Part, { adapters = [], statics = "error" }: StateOptions): TreeOptions {
  return { prefix: part.path, adapters, statics };
}

function fill(part: Part, leaves: ReadonlyMap<string, Tensor>): void {
  for (const [name, tensor] of leaves) {
    checkTensor(tensor, name); // isLeaf and adapters let anything through
    const path = name.slice(part.path.length + 1);
    part.into.set(path, tensor);
  }
}

/** Throws `invalid-argument` for what has not the form of a training state. */
export function checkState(state: TrainingState): void {
  const given: unknown = state;
  if (!isObject(given)) {
    throw new TensorjarError(
      "invalid-argument",
      `a training state is an object, got ${describe(given)}`,
      {
        hint: "give { params, optimizers, step }",
      },
    );
  }
  checkObject(state.params, "params", "a tree of arrays");
  checkRecord(state.optimizers, "optimizers", "an object of optimizers by name; {} for none");
  for (const [name, live] of ownEntries(state.optimizers)) {
    checkObject(live, `optimizers.${name}`, "an object such as { step, exp_avg, exp_avg_sq }");
  }
}

function plan(state: TrainingState, options: StateOptions): { snapshot: Snapshot; parts: Part[] } {
  checkState(state);
  const parts: Part[] = [];
  const part = (path: string, tree: unknown): Map<string, Tensor> => {
    const into = new Map<string, Tensor>();
    parts.push({ path, tree, into });
    return into;
  };
  const params = part("params", state.params);
  const optimizers = new Map<string, OptimizerSnapshot>();
  for (const [name, live] of Object.entries(state.optimizers)) {
    const path = `optimizers.${name}`;
    const slots = new Map(
      slotsOf(name, live, options.statics).map((slot) => [
        slot,
        part(`${path}.${slot}`, Reflect.get(live, slot)),
      ]),
    );
    const step = readSteps(Reflect.get(live, "step"), `${path}.step`);
    const hyperparameters: unknown = Reflect.get(live, "hyperparameters");
    optimizers.set(name, {
      step,
      slots,
      ...(hyperparameters === undefined
        ? {}
        : { hyperparameters: copyJson(hyperparameters, `${path}.hyperparameters`).json }),
    });
  }
  checkStep(state.step, "step");
  const config = copyJson(state.config === undefined ? {} : state.config, "config");
  const extra = state.extra === undefined ? new Map<string, Tensor>() : part("extra", state.extra);
  const snapshot: Snapshot = {
    version: 1,
    step: state.step,
    params,
    optimizers,
    config: config.json,
    configText: config.text,
    ...(state.metrics === undefined ? {} : { metrics: readMetrics(state.metrics) }),
    extra,
  };
  return { snapshot, parts };
}

function ownEntries(object: object): [string, unknown][] {
  return Object.entries(object);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function checkObject(value: unknown, path: string, expected: string): asserts value is object {
  if (isObject(value)) return;
  throw new TensorjarError("invalid-argument", `${path} is ${describe(value)}, not ${expected}`, {
    path,
  });
}

/** As {@link checkObject}; refuses what keeps its entries elsewhere than in fields, such as a Map, which would be lost. */
export function checkRecord(
  value: unknown,
  path: string,
  expected: string,
): asserts value is object {
  checkObject(value, path, expected);
  if (classTag(value) === "Object") return;
  throw new TensorjarError("invalid-argument", `${path} is ${describe(value)}, not ${expected}`, {
    path,
    ...(classTag(value) === "Map" ? { hint: "use Object.fromEntries" } : {}),
  });
}

/** One number, or numbers by path. */
export function readSteps(steps: unknown, path: string): number | Map<string, number> {
  if (!isObject(steps)) {
    checkStep(steps, path);
    return steps;
  }
  checkRecord(steps, path, "a number, or an object of numbers by path");
  const byPath = new Map<string, number>();
  for (const [key, step] of ownEntries(steps)) {
    checkStep(step, below(path, key));
    byPath.set(key, step);
  }
  return byPath;
}

/** A copy of the metrics; NaN and infinities are values too. */
export function readMetrics(metrics: unknown): Record<string, number> {
  checkRecord(metrics, "metrics", "an object of numbers by name");
  const entries = ownEntries(metrics).map(([name, value]): [string, number] => {
    if (typeof value === "number") return [name, value];
    throw new TensorjarError(
      "invalid-argument",
      `the metric ${quote(name)} is ${describe(value)}, not a number`,
      { path: `metrics.${name}`, name },
    );
  });
  return Object.fromEntries(entries);
}
