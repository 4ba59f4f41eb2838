import { quote } from "@tensorjar/core/codec";
import type { Snapshot } from "../snapshot.js";
import {
  after,
  checkSemantics,
  collect,
  type Exchange,
  exchange,
  type Foreign,
  type FromOptions,
  scalarStep,
  type ToOptions,
  unsupported,
} from "./exchange.js";

/**
 * A snapshot by PyTorch's names: `model.NAME` as in `model.state_dict()`, `optimizer.NAME.SLOT` and
 * `optimizer.NAME.step` as in the optimizer's state of the parameter of that name.
 * Throws `unsupported` for what `torch.optim` does otherwise.
 */
export function toTorch(snapshot: Snapshot, options: ToOptions = {}): Exchange {
  return exchange(snapshot, options, "pt", "model.", (tensors, optimizer) => {
    checkSemantics(optimizer, "torch.optim", { bias_correction: true, eps_root: 0 });
    const { step, slots } = optimizer;
    const paths = new Set<string>();
    for (const [slot, values] of slots) {
      if (slot.includes("."))
        throw unsupported(`a slot ${quote(slot)} has a dot in its name`, slot);
      for (const [path, tensor] of values) {
        paths.add(path);
        tensors.set(`optimizer.${path}.${slot}`, tensor);
      }
    }
    const steps = typeof step === "number" ? [...paths].map((path) => [path, step] as const) : step;
    for (const [path, count] of steps) {
      if (Math.fround(count) !== count) {
        throw unsupported(`PyTorch keeps steps as float32, which cannot hold ${count}`, path);
      }
      const data = Float32Array.of(count);
      tensors.set(`optimizer.${path}.step`, { dtype: "float32", shape: [], data });
    }
  });
}

/** The snapshot of tensors named as {@link toTorch} names them; it holds the arrays given. Throws `invalid-checkpoint`. */
export function fromTorch(file: Foreign, options: FromOptions = {}): Snapshot {
  return collect(file, options, (name, tensor, into) => {
    const param = after(name, "model.");
    if (param !== undefined) into.params.set(param, tensor);
    const state = after(name, "optimizer.");
    const dot = state?.lastIndexOf(".") ?? -1;
    if (state === undefined || dot < 0) return param !== undefined;
    const path = state.slice(0, dot);
    const slot = state.slice(dot + 1);
    if (slot === "step") into.steps.set(path, scalarStep(name, tensor));
    else into.slot(slot, path, tensor);
    return true;
  });
}
