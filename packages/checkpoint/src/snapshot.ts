import {
  type Bytes,
  type DType,
  type Tensor,
  TensorjarError,
  type TensorOf,
} from "@tensorjar/core";
import {
  allocate,
  checkTensor,
  describe,
  tensorBytes,
  tensorFromBytes,
} from "@tensorjar/core/codec";
import { checkStep, type Json, jsonText, readJson, sameJson } from "./json.js";
import { readMetrics, readState, type StateOptions, type TrainingState } from "./state.js";

/** An optimizer as it was saved. */
export interface OptimizerSnapshot {
  /** Updates made: by the optimizer as a whole, or for each parameter by its path. */
  readonly step: number | ReadonlyMap<string, number>;
  /** Slot (`exp_avg`) → path of the parameter → array. */
  readonly slots: ReadonlyMap<string, ReadonlyMap<string, Tensor>>;
  readonly hyperparameters?: Json;
}

/** A checkpoint in memory, whatever file it comes from: frozen, with arrays of its own. */
export interface Snapshot {
  /** The schema's version. */
  readonly version: number;
  /** Completed updates. */
  readonly step: number;
  readonly params: ReadonlyMap<string, Tensor>;
  readonly optimizers: ReadonlyMap<string, OptimizerSnapshot>;
  readonly config: Json;
  /** The configuration as the file holds it, byte for byte. */
  readonly configText: string;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly extra: ReadonlyMap<string, Tensor>;
}

export interface SnapshotOptions extends StateOptions {
  /** How paths in the tree are called in an `.npz` and back, where a path is no name the schema allows. */
  names?: { toFile(path: string): string; toTree(name: string): string };
  /** Of the members of an `.npz` (default `"stored"`). */
  compression?: "stored" | "deflate";
}

/** Throws `invalid-argument` for a mapping that lacks a way. */
export function checkNames(names: unknown): void {
  if (names === undefined) return;
  const complete =
    typeof names === "object" &&
    names !== null &&
    "toFile" in names &&
    typeof names.toFile === "function" &&
    "toTree" in names &&
    typeof names.toTree === "function";
  if (complete) return;
  throw new TensorjarError("invalid-argument", `names is ${describe(names)}`, {
    name: "names",
    hint: "give { toFile(path), toTree(name) }",
  });
}

/**
 * A copy of the live state, taken before the call returns.
 * Throws `invalid-argument` for what a checkpoint cannot hold, and what `flattenTree` throws.
 */
export function takeSnapshot(state: TrainingState, options: SnapshotOptions = {}): Snapshot {
  return mapSnapshot(readState(state, options), (tensor) =>
    tensorFromBytes(tensor.dtype, tensor.shape, tensorBytes(tensor), true),
  );
}

/** The bytes that {@link copySnapshot} needs for the arrays of a snapshot. */
export function stagingBytes(snapshot: Snapshot): number {
  let bytes = 0;
  for (const tensor of tensorsOf(snapshot)) {
    bytes = startAfter(bytes, tensor) + tensor.data.byteLength;
  }
  return bytes;
}

/** A copy whose arrays lie one after another in `staging`, which is at least {@link stagingBytes} long. */
export function copySnapshot(
  snapshot: Snapshot,
  staging: Bytes = allocate(stagingBytes(snapshot)),
): Snapshot {
  let at = 0;
  return mapSnapshot(snapshot, (tensor) => {
    const start = startAfter(at, tensor);
    at = start + tensor.data.byteLength;
    const own = staging.subarray(start, at);
    own.set(tensorBytes(tensor));
    return tensorFromBytes(tensor.dtype, tensor.shape, own);
  });
}

/**
 * Where an array lies after `end` bytes: aligned for every dtype, and large ones to a line of the processor's cache, as
 * the memory they come from is; measured, copying them takes a twentieth less.
 */
function startAfter(end: number, { data }: Tensor): number {
  const step = data.byteLength < 65536 ? 8 : 64;
  return Math.ceil(end / step) * step;
}

/** The arrays in the order in which {@link mapSnapshot} comes to them. */
function* tensorsOf(snapshot: Snapshot): Generator<Tensor> {
  yield* snapshot.params.values();
  for (const { slots } of snapshot.optimizers.values()) {
    for (const slot of slots.values()) yield* slot.values();
  }
  yield* snapshot.extra.values();
}

function mapSnapshot(snapshot: Snapshot, copy: (tensor: Tensor) => TensorOf<DType>): Snapshot {
  const own = (tensor: Tensor): Tensor => {
    const { dtype, shape, data } = copy(tensor);
    return { dtype, shape: [...shape], data } as Tensor; // `copy` keeps the dtype, which the union cannot express
  };
  const all = (tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> =>
    mapValues(tensors, own);
  return freezeSnapshot({
    ...snapshot,
    params: all(snapshot.params),
    optimizers: mapValues(snapshot.optimizers, (optimizer) => ({
      ...optimizer,
      slots: mapValues(optimizer.slots, all),
    })),
    extra: all(snapshot.extra),
  });
}

/** The snapshot with everything in it frozen but the numbers of its arrays. */
export function freezeSnapshot(snapshot: Snapshot): Snapshot {
  const { params, optimizers, extra, metrics } = snapshot;
  for (const tensor of tensorsOf(snapshot)) Object.freeze(Object.freeze(tensor).shape);
  for (const optimizer of optimizers.values()) {
    const { step, slots } = Object.freeze(optimizer);
    if (typeof step !== "number") freezeMap(step);
    for (const slot of slots.values()) freezeMap(slot);
    freezeMap(slots);
  }
  for (const map of [params, optimizers, extra]) freezeMap(map);
  if (metrics !== undefined) Object.freeze(metrics);
  return Object.freeze(snapshot);
}

const refuse = {
  value: () => {
    throw new TensorjarError("invalid-argument", "a snapshot is frozen", {
      hint: "change a copy: new Map(snapshot.params)",
    });
  },
};

/** Object.freeze does not reach what a Map holds. */
function freezeMap(map: object): void {
  Object.defineProperties(map, { set: refuse, delete: refuse, clear: refuse });
}

function mapValues<T, R>(map: ReadonlyMap<string, T>, fn: (value: T) => R): Map<string, R> {
  return new Map(Array.from(map, ([key, value]) => [key, fn(value)]));
}

/** Whether `value` is a snapshot, not a live state. */
export function isSnapshot(value: TrainingState | Snapshot): value is Snapshot {
  return typeof value === "object" && value !== null && "configText" in value;
}

/** Throws `invalid-argument` for what is no snapshot. */
export function checkSnapshot(value: Snapshot): void {
  if (isSnapshot(value)) return;
  throw new TensorjarError("invalid-argument", `${describe(value)} is no snapshot`, {
    hint: "loadCheckpoint, a format's load and takeSnapshot give one",
  });
}

/**
 * A snapshot to write: a live state is copied at once; a snapshot is checked, since anyone may have made it.
 * Its `configText` is kept as long as it says the same as its `config`.
 */
export function toSnapshot(given: TrainingState | Snapshot, options: SnapshotOptions): Snapshot {
  if (!isSnapshot(given)) return copySnapshot(readState(given, options));
  checkStep(given.step, "step");
  checkTensors(given.params, "params");
  checkTensors(given.extra, "extra");
  checkMap(given.optimizers, "optimizers");
  for (const [name, { step, slots, hyperparameters }] of given.optimizers) {
    const path = `optimizers.${name}`;
    if (typeof step === "number") checkStep(step, `${path}.step`);
    else {
      checkMap(step, `${path}.step`);
      for (const [key, value] of step) checkStep(value, `${path}.step.${key}`);
    }
    checkMap(slots, `${path}.slots`);
    for (const [slot, tensors] of slots) checkTensors(tensors, `${path}.${slot}`);
    if (hyperparameters !== undefined) jsonText(hyperparameters, `${path}.hyperparameters`);
  }
  if (given.metrics !== undefined) readMetrics(given.metrics);
  if (sameJson(readText(given.configText), given.config)) return given;
  return { ...given, configText: jsonText(given.config, "config") };
}

/** What the text of a configuration says. */
function readText(text: unknown): Json {
  const json = typeof text === "string" ? readJson(text, false) : undefined;
  if (json !== undefined) return json;
  throw new TensorjarError("invalid-argument", "configText of a snapshot is not JSON", {
    path: "configText",
    hint: "it is the text of `config`, nested no deeper than 1,000 levels",
  });
}

function checkTensors(tensors: unknown, path: string): void {
  checkMap(tensors, path);
  for (const [name, tensor] of tensors) checkTensor(tensor, `${path}.${String(name)}`);
}

function checkMap(value: unknown, path: string): asserts value is ReadonlyMap<unknown, unknown> {
  if (Object.prototype.toString.call(value) === "[object Map]") return;
  throw new TensorjarError("invalid-argument", `${path} of a snapshot is ${describe(value)}`, {
    path,
    hint: "a snapshot holds Maps by path; a live state has no `configText`",
  });
}
