import { type Problem, type Tensor, TensorjarError } from "@tensorjar/core";
import { quote, shapeText } from "@tensorjar/core/codec";
import type { LeafAdapter, LoadOptions, LoadReport } from "@tensorjar/tree";
import { applyLoad, planLoad, readOnlyProblem, treeMismatch } from "@tensorjar/tree/codec";
import type { VerifyOptions } from "./format.js";
import { below, listed } from "./json.js";
import { slotPaths } from "./layout.js";
import { liveTree, stepAdapter, stepsByPath, stepTensor } from "./live-tree.js";
import { sameShape } from "./shape.js";
import {
  checkNames,
  checkSnapshot,
  type OptimizerSnapshot,
  type Snapshot,
  type SnapshotOptions,
} from "./snapshot.js";
import { checkState, type TrainingState } from "./state.js";

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
  checkSnapshot(snapshot);
  checkState(state);
  const { adapters = [], assign = "copy", names, verify: _, ...rest } = options;
  checkNames(names);
  const toTree = names === undefined ? (name: string) => name : (n: string) => names.toTree(n);
  const { tree, steps } = liveTree(state, options.statics);
  const { flat, asInState } = flatten(snapshot, state, toTree);
  const load: LoadOptions = { ...rest, assign, adapters: [stepAdapter, ...adapters] };
  const { rename } = options;
  if (rename !== undefined) load.rename = (path) => (asInState.has(path) ? path : rename(path));
  const plan = planLoad(tree, flat, load, true);
  const { report } = plan;
  const fixed = report.loaded.filter((path) => steps.get(path)?.settable === false);
  const problems = [...plan.problems, ...fixed.map(readOnlyProblem)];
  const unfit = options.shape === "any" ? unfitMoments(snapshot, toTree, rename) : [];
  if (problems.length > 0 || unfit.length > 0) throw mismatch(problems, unfit, fixed.length > 0);
  applyLoad(plan);
  return { ...report, loaded: report.loaded.filter((path) => !steps.has(path)) };
}

interface UnfitMoment extends Problem {
  readonly expected: readonly number[];
  readonly actual: readonly number[];
}

/** Adam's moments have the shape of their parameter, whatever shape that has; where it is not known, that of each other. */
function unfitMoments(
  snapshot: Snapshot,
  toTree: (name: string) => string,
  rename: (path: string) => string = (path) => path,
): UnfitMoment[] {
  const problems: UnfitMoment[] = [];
  const { params } = snapshot;
  for (const [name, { slots }] of snapshot.optimizers) {
    const first = slots.get("exp_avg");
    for (const slot of ["exp_avg", "exp_avg_sq"]) {
      for (const [group, { shape }] of slots.get(slot) ?? []) {
        // The gem's groups: of the parameter's name, or the one group `default` of an optimizer of its name.
        const param = params.get(group) ?? (group === "default" ? params.get(name) : undefined);
        const expected = (param ?? first?.get(group))?.shape;
        if (expected === undefined || sameShape(expected, shape)) continue;
        const path = rename(below(`optimizers.${name}.${slot}`, toTree(group)));
        problems.push({ kind: "shape", path, expected, actual: shape });
      }
    }
  }
  return problems;
}

/** One error for what does not fit the state, and for moments in the file that do not fit their parameters. */
function mismatch(
  problems: readonly Problem[],
  unfit: readonly UnfitMoment[],
  frozen: boolean,
): TensorjarError {
  let { message } = treeMismatch(problems);
  // Of each kind that names the first alone; a run that does not resume should say at once what all is in its way.
  const paths = problems.slice(0, 50).map(({ path }) => quote(path));
  if (problems.length > 50) paths.push(`and ${problems.length - 50} more`);
  if (paths.length > 1) message += `\nin all: ${paths.join(", ")}`;
  if (unfit.length > 0) {
    const lines = unfit.map(
      ({ path, expected, actual }) =>
        `${quote(path)} is ${shapeText(actual)} in the file, but its parameter or exp_avg is ${shapeText(expected)}`,
    );
    message += `${listed(lines)}\n(shape: "exact" compares with the state alone)`;
  }
  return new TensorjarError("tree-mismatch", message, {
    problems: [...problems, ...unfit],
    ...(frozen && { hint: "steps are numbers, and are set in objects that are not frozen" }),
  });
}

/**
 * Everything a snapshot restores, by the paths of {@link liveTree}, and those of the paths that are of the state
 * already and must not be renamed. Throws `duplicate-name`.
 */
function flatten(
  snapshot: Snapshot,
  state: TrainingState,
  toTree: (name: string) => string,
): { flat: Map<string, Tensor>; asInState: ReadonlySet<string> } {
  const flat = new Map<string, Tensor>();
  const asInState = new Set<string>();
  const add = (path: string, tensor: Tensor): void => {
    if (flat.has(path)) {
      throw new TensorjarError("duplicate-name", `the snapshot has two arrays for ${path}`, {
        name: path,
        hint: "a name that holds a dot and nested names make the same path; rename one",
      });
    }
    flat.set(path, tensor);
  };
  for (const [path, tensor] of snapshot.params) add(below("params", toTree(path)), tensor);
  for (const [path, tensor] of snapshot.extra) add(below("extra", path), tensor);
  for (const [name, optimizer] of snapshot.optimizers) {
    const prefix = `optimizers.${name}`;
    for (const [slot, tensors] of optimizer.slots) {
      for (const [path, tensor] of tensors) add(below(`${prefix}.${slot}`, toTree(path)), tensor);
    }
    const live = Object.hasOwn(state.optimizers, name) ? state.optimizers[name] : undefined;
    const byPath = live && stepsByPath(live, prefix);
    const steps =
      live === undefined ? optimizer.step : stepsAsLive(optimizer, byPath !== undefined);
    const paths = Object.keys(byPath ?? {});
    if (typeof steps !== "number") {
      for (const [path, step] of steps) add(`${prefix}.step.${toTree(path)}`, stepTensor(step));
    } else if (paths.length === 0) add(`${prefix}.step`, stepTensor(steps));
    else {
      // One step of an optimizer without slots is that of every path that the state counts for.
      for (const path of paths) {
        asInState.add(`${prefix}.step.${path}`);
        add(`${prefix}.step.${path}`, stepTensor(steps));
      }
    }
  }
  add("step", stepTensor(snapshot.step));
  return { flat, asInState };
}

/** Steps in the form that the live optimizer counts in, where they say the same in it of every path with a slot. */
function stepsAsLive(
  { step, slots }: OptimizerSnapshot,
  byPath: boolean,
): OptimizerSnapshot["step"] {
  const paths = [...slotPaths(slots)];
  if (typeof step !== "number") {
    const [first] = step.values();
    const same = first !== undefined && [...step.values()].every((each) => each === first);
    return !byPath && same && paths.every((path) => step.has(path)) ? first : step;
  }
  return byPath && paths.length > 0 ? new Map(paths.map((path) => [path, step])) : step;
}
