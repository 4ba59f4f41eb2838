/** What the suites of this package share; runs in Node and in browsers. */
import type { CheckpointFormat, Snapshot, Tensor, TrainingState } from "@tensorjar/checkpoint";
import { bytesOf, gather as gatherChunks, type Random, toHex } from "../../../tooling/testing.js";

/** All bytes of a file that is written, as one array. */
export function gather(
  file: ReturnType<CheckpointFormat["chunks"]>,
): Promise<Uint8Array<ArrayBuffer>> {
  return gatherChunks("chunks" in file ? file.chunks : file);
}

/** A snapshot in a form that tests compare: everything it holds, without order, arrays as hex. */
export function content(snapshot: Snapshot): object {
  const { step, configText, metrics } = snapshot;
  return {
    step,
    configText,
    metrics,
    params: tensors(snapshot.params),
    extra: tensors(snapshot.extra),
    optimizers: Array.from(snapshot.optimizers, ([name, optimizer]) => ({
      name,
      step: typeof optimizer.step === "number" ? optimizer.step : entries(optimizer.step),
      hyperparameters: optimizer.hyperparameters,
      slots: entries(optimizer.slots).map(([slot, values]) => [slot, tensors(values)]),
    })),
  };
}

function tensors(map: ReadonlyMap<string, Tensor>): unknown[] {
  return entries(map).map(([path, { dtype, shape, data }]) => [
    path,
    dtype,
    [...shape],
    toHex(bytesOf(data)),
  ]);
}

function entries<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}

export interface Model {
  layers: { weight: Tensor<"float32">; bias: Tensor<"float32"> }[];
}

/** A small model whose every value is random. */
export function randomModel(rng: Random, layers = 2): Model {
  const filled = (shape: number[]): Tensor<"float32"> => ({
    dtype: "float32",
    shape,
    data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => rng.next() - 0.5),
  });
  return {
    layers: Array.from({ length: layers }, () => ({ weight: filled([3, 2]), bias: filled([2]) })),
  };
}

export interface AdamState extends TrainingState {
  params: Model;
  optimizers: { adam: { step: number; exp_avg: Model; exp_avg_sq: Model } };
}

/** A training state in the middle of a run, every array random. */
export function adamState(rng: Random, step = 12, layers = 2): AdamState {
  const state: AdamState = {
    params: randomModel(rng, layers),
    optimizers: {
      adam: { step, exp_avg: randomModel(rng, layers), exp_avg_sq: randomModel(rng, layers) },
    },
    step,
    config: { lr: 0.01, name: "tiny" },
  };
  for (const { weight, bias } of state.optimizers.adam.exp_avg_sq.layers) {
    for (const data of [weight.data, bias.data]) data.set(data.map(Math.abs));
  }
  return state;
}
