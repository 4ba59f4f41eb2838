import { type Named, type Tensor, TensorjarError, toFloat64 } from "@tensorjar/core";
import { checkName, checkTensor, namedEntries, quote } from "@tensorjar/core/codec";
import { checkStep, copyJson, isJsonObject, type Json, jsonText } from "../json.js";
import { parseJson } from "../parse-json.js";
import {
  checkSnapshot,
  freezeSnapshot,
  type OptimizerSnapshot,
  type Snapshot,
} from "../snapshot.js";

/** What another library calls things: write it with `encodeSafetensors(tensors, { metadata })`. Arrays are those of the snapshot. */
export interface Exchange {
  readonly tensors: Map<string, Tensor>;
  /** `format`, `step`, `config` and, where they are known, `hyperparameters`, the last two as JSON. */
  readonly metadata: Map<string, string>;
}

/** What is read back: `decodeSafetensors(bytes)` gives it. */
export interface Foreign {
  readonly tensors: Named<Tensor>;
  readonly metadata?: ReadonlyMap<string, string>;
}

export interface ToOptions {
  /** Which optimizer; needed when there are several. */
  optimizer?: string;
}

export interface FromOptions {
  /** What to call the optimizer (default `"adam"`). */
  optimizer?: string;
  /** Completed updates; without it the metadata's `step`, else the optimizer's. */
  step?: number;
  config?: Json;
  hyperparameters?: Json;
}

/**
 * The settings of Adam and its relatives, as `hyperparameters` of an optimizer are best recorded: with everything in
 * which libraries differ. The names are PyTorch's where it has one.
 */
export interface AdamHyperparameters {
  readonly lr: number;
  readonly betas: readonly [number, number];
  /** Added to the root of the second moment, after its correction. */
  readonly eps: number;
  /** Added under the root (Optax alone has it). */
  readonly eps_root?: number;
  readonly weight_decay?: number;
  /** Whether the decay is applied to the weights (AdamW) or to the gradient (Adam). */
  readonly decoupled?: boolean;
  /** Whether the moments are divided by 1 − beta^step; MLX's default is not to. */
  readonly bias_correction?: boolean;
  readonly amsgrad?: boolean;
  /** Settings that hold for some parameters only, by their paths. */
  readonly groups?: readonly (Partial<AdamHyperparameters> & {
    readonly params: readonly string[];
  })[];
}

/** The optimizer to hand over. Throws `not-found` and `invalid-argument`. */
function chosenOptimizer(
  snapshot: Snapshot,
  { optimizer }: ToOptions,
): OptimizerSnapshot | undefined {
  checkSnapshot(snapshot);
  const { optimizers } = snapshot;
  const names = [...optimizers.keys()];
  if (optimizer === undefined && names.length > 1) {
    throw new TensorjarError("invalid-argument", `the snapshot has ${names.length} optimizers`, {
      hint: `say which: { optimizer: ${names.slice(0, 5).map(quote).join(" | ")} }`,
    });
  }
  const name = optimizer ?? names[0];
  if (name === undefined) return undefined;
  const found = optimizers.get(name);
  if (found !== undefined) return found;
  throw new TensorjarError("not-found", `the snapshot has no optimizer ${quote(name)}`, { name });
}

function exchangeMetadata(
  snapshot: Snapshot,
  format: string,
  optimizer: OptimizerSnapshot | undefined,
): Map<string, string> {
  const metadata = new Map([
    ["format", format],
    ["step", String(snapshot.step)],
    ["config", snapshot.configText],
  ]);
  if (optimizer?.hyperparameters !== undefined) {
    metadata.set("hyperparameters", jsonText(optimizer.hyperparameters, "hyperparameters"));
  }
  return metadata;
}

/** What is handed over: the parameters, called `prefix` and their paths, and what `add` adds of the optimizer. */
export function exchange(
  snapshot: Snapshot,
  options: ToOptions,
  format: string,
  prefix: string,
  add: (tensors: Map<string, Tensor>, optimizer: OptimizerSnapshot) => void,
): Exchange {
  const optimizer = chosenOptimizer(snapshot, options);
  const tensors = new Map<string, Tensor>();
  for (const [path, tensor] of snapshot.params) tensors.set(prefix + path, tensor);
  if (optimizer !== undefined) add(tensors, optimizer);
  return { tensors, metadata: exchangeMetadata(snapshot, format, optimizer) };
}

/** Throws `unsupported` when a setting has another value than the only one that `library` knows. */
export function checkSemantics(
  { hyperparameters }: OptimizerSnapshot,
  library: string,
  only: { readonly [setting: string]: Json },
): void {
  if (hyperparameters === undefined || !isJsonObject(hyperparameters)) return;
  for (const [setting, value] of Object.entries(only)) {
    const actual = hyperparameters[setting];
    if (actual === undefined || actual === value) continue;
    throw unsupported(`${library} has no ${setting} ${jsonText(actual, setting)}`, setting);
  }
}

export function unsupported(message: string, name: string): TensorjarError {
  return new TensorjarError("unsupported", message, { name });
}

/** The one count of updates of a library that has but one. Throws `unsupported`. */
export function commonStep({ step }: OptimizerSnapshot, library: string): number {
  if (typeof step === "number") return step;
  const [first = 0] = step.values();
  for (const [path, other] of step) {
    if (other !== first) {
      throw unsupported(
        `${library} counts one step for all parameters, but ${quote(path)} is at ${other} and another at ${first}`,
        path,
      );
    }
  }
  return first;
}

/** Slots under the names of `library`. Throws `unsupported` for one that it does not have. */
export function addSlots(
  tensors: Map<string, Tensor>,
  { slots }: OptimizerSnapshot,
  library: string,
  nameOf: { readonly [slot: string]: (path: string) => string },
): void {
  for (const [slot, values] of slots) {
    const name = Object.hasOwn(nameOf, slot) ? nameOf[slot] : undefined;
    if (name === undefined) throw unsupported(`${library} has no slot ${quote(slot)}`, slot);
    for (const [path, tensor] of values) tensors.set(name(path), tensor);
  }
}

/** Collects what a foreign file holds until it makes a snapshot. */
export class Collected {
  readonly params: Map<string, Tensor> = new Map();
  readonly slots: Map<string, Map<string, Tensor>> = new Map();
  readonly steps: Map<string, number> = new Map();
  step: number | undefined;

  slot(slot: string, path: string, tensor: Tensor): void {
    const values = this.slots.get(slot) ?? new Map<string, Tensor>();
    this.slots.set(slot, values.set(path, tensor));
  }

  snapshot(metadata: ReadonlyMap<string, string>, options: FromOptions): Snapshot {
    const { optimizer = "adam" } = options;
    checkName(optimizer, "optimizers");
    const text = metadata.get("hyperparameters");
    let hyperparameters: Json | undefined;
    if (options.hyperparameters !== undefined) {
      hyperparameters = copyJson(options.hyperparameters, "hyperparameters").json;
    } else if (text !== undefined) {
      hyperparameters = parseJson(text, "hyperparameters", { finite: true });
    }
    let counted = this.step ?? 0;
    for (const each of this.steps.values()) counted = Math.max(counted, each);
    const step = options.step ?? countOf(metadata.get("step"), counted);
    checkStep(step, "step");
    const configText =
      options.config === undefined
        ? (metadata.get("config") ?? "{}")
        : jsonText(options.config, "config");
    const hasState = this.slots.size > 0 || this.steps.size > 0 || this.step !== undefined;
    const state: OptimizerSnapshot = {
      step: this.step ?? this.steps,
      slots: this.slots,
      ...(hyperparameters === undefined ? {} : { hyperparameters }),
    };
    return freezeSnapshot({
      version: 1,
      step,
      params: this.params,
      optimizers: new Map(hasState ? [[optimizer, state]] : []),
      config: parseJson(configText, "config"),
      configText,
      extra: new Map(),
    });
  }
}

function countOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const count = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return count;
  throw new TensorjarError("invalid-checkpoint", `the step in the metadata is ${quote(text)}`, {
    name: "step",
  });
}

/** A count stored as a scalar of any dtype. Throws `invalid-checkpoint`. */
export function scalarStep(name: string, tensor: Tensor): number {
  const values = toFloat64(tensor);
  const [value = Number.NaN] = values;
  if (values.length === 1 && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TensorjarError(
    "invalid-checkpoint",
    `${quote(name)} is not one integer from 0 to 2^53-1`,
    { name },
  );
}

/** Sorts a foreign file's tensors; `place` says `false` to a name that it does not know. Throws `invalid-checkpoint`. */
export function collect(
  file: Foreign,
  options: FromOptions,
  place: (name: string, tensor: Tensor, into: Collected) => boolean,
): Snapshot {
  const { tensors, metadata = new Map() }: Foreign = Object(file);
  const into = new Collected();
  for (const [name, tensor] of namedEntries(tensors)) {
    checkTensor(tensor, name);
    // The snapshot freezes its tensors; those given are the caller's.
    if (place(name, { ...tensor, shape: [...tensor.shape] }, into)) continue;
    throw new TensorjarError(
      "invalid-checkpoint",
      `the tensor ${quote(name)} has a name that means nothing here`,
      { name, hint: "the names are those that docs/checkpoints.md shows" },
    );
  }
  return into.snapshot(new Map(namedEntries(metadata, "metadata")), options);
}

/** What stands after `prefix`, or `undefined`. */
export function after(name: string, prefix: string): string | undefined {
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}
