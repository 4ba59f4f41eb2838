import type { Snapshot } from "../snapshot.js";
import {
  addSlots,
  after,
  checkSemantics,
  collect,
  commonStep,
  type Exchange,
  exchange,
  type Foreign,
  type FromOptions,
  scalarStep,
  type ToOptions,
  unsupported,
} from "./exchange.js";

/**
 * A snapshot by the names that `jax.tree_util.tree_map_with_path` gives `{"params": params, "opt_state": opt_state}`
 * with the state of `optax.adam` or `optax.adamw`: `params.NAME`, `opt_state.0.count`, `opt_state.0.mu.NAME`,
 * `opt_state.0.nu.NAME`. Throws `unsupported` for what Optax does otherwise, such as AMSGrad's maximum.
 */
export function toOptax(snapshot: Snapshot, options: ToOptions = {}): Exchange {
  return exchange(snapshot, options, "flax", "params.", (tensors, optimizer) => {
    checkSemantics(optimizer, "optax.adamw", { bias_correction: true });
    const step = commonStep(optimizer, "Optax");
    if (step > 0x7fffffff)
      throw unsupported(`Optax counts in int32, which cannot hold ${step}`, "step");
    tensors.set("opt_state.0.count", { dtype: "int32", shape: [], data: Int32Array.of(step) });
    addSlots(tensors, optimizer, "optax.adamw", {
      exp_avg: (path) => `opt_state.0.mu.${path}`,
      exp_avg_sq: (path) => `opt_state.0.nu.${path}`,
    });
  });
}

/** The snapshot of tensors named as {@link toOptax} names them; it holds the arrays given. Throws `invalid-checkpoint`. */
export function fromOptax(file: Foreign, options: FromOptions = {}): Snapshot {
  return collect(file, options, (name, tensor, into) => {
    const param = after(name, "params.");
    const first = after(name, "opt_state.0.mu.");
    const second = after(name, "opt_state.0.nu.");
    if (param !== undefined) into.params.set(param, tensor);
    else if (first !== undefined) into.slot("exp_avg", first, tensor);
    else if (second !== undefined) into.slot("exp_avg_sq", second, tensor);
    else if (name === "opt_state.0.count") into.step = scalarStep(name, tensor);
    else return false;
    return true;
  });
}
