import { type Tensor, TensorjarError } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";
import { sameShape } from "./shape.js";
import {
  checkNames,
  type OptimizerSnapshot,
  type Snapshot,
  type SnapshotOptions,
} from "./snapshot.js";

/** The gem's schema, and the only one that is read. */
export const npzVersion = 1;

export const headNames = {
  version: "checkpoint_version",
  step: "checkpoint_step",
  config: "checkpoint_config_json",
} as const;

/** What an entry of an archive is, told by its name; greedy, as the gem's own pattern. */
export type NpzPlace =
  | { readonly kind: "head" | "extra" }
  | { readonly kind: "param"; readonly path: string }
  | {
      readonly kind: "state";
      readonly optimizer: string;
      readonly group: string;
      readonly field: "step" | "exp_avg" | "exp_avg_sq";
    };

const statePattern = /^optimizer___(\w+)___(\w+)___(step|exp_avg|exp_avg_sq)$/;

export function npzPlace(name: string): NpzPlace {
  if (Object.values<string>(headNames).includes(name)) return { kind: "head" };
  if (/^param___./s.test(name)) return { kind: "param", path: name.slice(8) };
  const [, optimizer, group, field] = statePattern.exec(name) ?? [];
  if (optimizer === undefined || group === undefined) return { kind: "extra" };
  if (field !== "step" && field !== "exp_avg" && field !== "exp_avg_sq") return { kind: "extra" };
  return { kind: "state", optimizer, group, field };
}

/** The entries of an archive in the gem's order. Throws `unsupported`, `invalid-name` and `duplicate-name`. */
export function npzEntries(
  snapshot: Snapshot,
  names: SnapshotOptions["names"],
): Map<string, Tensor> {
  const entries = new Map<string, Tensor>();
  const add = (name: string, tensor: Tensor): void => {
    checkDType(name, tensor);
    if (entries.has(name)) {
      throw new TensorjarError("duplicate-name", `two arrays are to be called ${quote(name)}`, {
        name,
        hint: "names.toFile must give every path a name of its own",
      });
    }
    entries.set(name, tensor);
  };
  checkNames(names);
  const part = (path: string, what: string): string =>
    checkPart(names === undefined ? path : names.toFile(path), what);
  if (snapshot.metrics !== undefined) throw unsupported("metrics", "metrics");
  add(headNames.version, { dtype: "int32", shape: [1], data: Int32Array.of(npzVersion) });
  add(headNames.step, int64(snapshot.step));
  const config = new TextEncoder().encode(snapshot.configText);
  add(headNames.config, { dtype: "uint8", shape: [config.length], data: config });
  for (const [path, tensor] of snapshot.params) add(`param___${part(path, "parameter")}`, tensor);
  for (const [name, optimizer] of snapshot.optimizers) {
    checkPart(name, "optimizer");
    for (const { path, step, moments } of groupsOf(name, optimizer)) {
      const prefix = `optimizer___${name}___${part(path, "group")}`;
      add(`${prefix}___step`, int64(step));
      for (const [slot, tensor] of moments) add(`${prefix}___${slot}`, tensor);
    }
  }
  for (const [name, tensor] of snapshot.extra) {
    if (npzPlace(name).kind !== "extra") {
      throw new TensorjarError("invalid-name", `an extra array is called ${quote(name)}`, {
        name,
        hint: "names that begin so are the schema's own",
      });
    }
    add(name, tensor);
  }
  return entries;
}

function int64(value: number): Tensor {
  return { dtype: "int64", shape: [1], data: BigInt64Array.of(BigInt(value)) };
}

function unsupported(name: string, what: string): TensorjarError {
  return new TensorjarError("unsupported", `a checkpoint in .npz cannot hold ${what}`, {
    name,
    hint: "write it as safetensors (safetensorsCheckpoint)",
  });
}

const dtypes = ["float32", "float64", "uint8", "uint16", "int32", "int64", "bool"];

function checkDType(name: string, { dtype }: Tensor): void {
  if (!dtypes.includes(dtype)) throw unsupported(name, `${quote(name)} of dtype ${dtype}`);
}

/** The gem joins names by `___`, so that a name with more underscores would be read as another one. */
function checkPart(name: string, what: string): string {
  const given: unknown = name;
  const wrong =
    typeof given !== "string" ||
    !/^[A-Za-z0-9_]+$/.test(name) ||
    name.includes("___") ||
    (what === "group" && name.startsWith("_")) ||
    (what === "optimizer" && name.endsWith("_"));
  if (!wrong) return name;
  throw new TensorjarError(
    "invalid-name",
    `${typeof given === "string" ? quote(given) : describe(given)} cannot be the name of a ${what} in .npz`,
    {
      name,
      hint: "use letters, digits and single underscores; give `names` to call paths such as layers.0.weight otherwise",
    },
  );
}

interface Group {
  readonly path: string;
  readonly step: number;
  readonly moments: readonly (readonly [slot: string, tensor: Tensor])[];
}

/** The groups of an optimizer: the gem's are Adam's, with a step and both moments each. */
function groupsOf(name: string, { step, slots, hyperparameters }: OptimizerSnapshot): Group[] {
  const path = `optimizers.${name}`;
  if (hyperparameters !== undefined) throw unsupported(path, `hyperparameters (${path})`);
  for (const [slot, tensors] of slots) {
    if (slot !== "exp_avg" && slot !== "exp_avg_sq" && tensors.size > 0) {
      throw unsupported(`${path}.${slot}`, `slots but exp_avg and exp_avg_sq (${path}.${slot})`);
    }
  }
  const first = slots.get("exp_avg") ?? new Map<string, Tensor>();
  const second = slots.get("exp_avg_sq") ?? new Map<string, Tensor>();
  const steps = typeof step === "number" ? undefined : step;
  const groups = Array.from(first, ([group, tensor]): Group => {
    const other = second.get(group);
    const count = typeof step === "number" ? step : step.get(group);
    if (other === undefined || count === undefined) throw incomplete(path, group);
    if (!sameShape(tensor.shape, other.shape)) {
      throw unsupported(path, `moments of unlike shapes (${path}, ${quote(group)})`);
    }
    return {
      path: group,
      step: count,
      moments: [
        ["exp_avg", tensor],
        ["exp_avg_sq", other],
      ],
    };
  });
  const lone = [...second.keys(), ...(steps?.keys() ?? [])].find((group) => !first.has(group));
  if (lone !== undefined) throw incomplete(path, lone);
  if (groups.length === 0) throw unsupported(path, `an optimizer without moments (${path})`);
  return groups;
}

function incomplete(path: string, group: string): TensorjarError {
  return unsupported(
    path,
    `a group without step, exp_avg and exp_avg_sq (${path}, ${quote(group)})`,
  );
}
