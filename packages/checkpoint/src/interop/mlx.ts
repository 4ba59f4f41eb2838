import { isJsonObject } from "../json.js";
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
} from "./exchange.js";

/**
 * A snapshot by the names that MLX's `tree_flatten` gives `{"model": model, "optimizer": optimizer.state}` with its
 * Adam or AdamW: `model.NAME`, `optimizer.NAME.m`, `optimizer.NAME.v`, `optimizer.step`, and `optimizer.learning_rate`
 * where the hyperparameters have `lr`. Bias correction is MLX's option, off by default. Throws `unsupported`.
 */
export function toMlx(snapshot: Snapshot, options: ToOptions = {}): Exchange {
  return exchange(snapshot, options, "mlx", "model.", (tensors, optimizer) => {
    checkSemantics(optimizer, "MLX", { eps_root: 0 });
    addSlots(tensors, optimizer, "MLX", {
      exp_avg: (path) => `optimizer.${path}.m`,
      exp_avg_sq: (path) => `optimizer.${path}.v`,
    });
    const step = BigUint64Array.of(BigInt(commonStep(optimizer, "MLX")));
    tensors.set("optimizer.step", { dtype: "uint64", shape: [], data: step });
    const { hyperparameters: settings } = optimizer;
    const rate = settings !== undefined && isJsonObject(settings) ? settings["lr"] : undefined;
    if (typeof rate === "number") {
      const data = Float32Array.of(rate);
      tensors.set("optimizer.learning_rate", { dtype: "float32", shape: [], data });
    }
  });
}

/** The snapshot of tensors named as {@link toMlx} names them; it holds the arrays given. Throws `invalid-checkpoint`. */
export function fromMlx(file: Foreign, options: FromOptions = {}): Snapshot {
  return collect(file, options, (name, tensor, into) => {
    const param = after(name, "model.");
    const state = after(name, "optimizer.");
    if (param !== undefined) into.params.set(param, tensor);
    else if (state === "step") into.step = scalarStep(name, tensor);
    else if (state === "learning_rate")
      return true; // a setting, which the caller has in float64
    else if (state?.endsWith(".m")) into.slot("exp_avg", state.slice(0, -2), tensor);
    else if (state?.endsWith(".v")) into.slot("exp_avg_sq", state.slice(0, -2), tensor);
    else return false;
    return true;
  });
}
