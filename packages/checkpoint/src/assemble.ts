import { type Tensor, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { isJsonObject, type Json, listed } from "./json.js";
import { schemaVersion, slotPaths } from "./layout.js";
import { newerVersion } from "./newer-version.js";
import { parseJson } from "./parse-json.js";
import { freezeSnapshot, type OptimizerSnapshot, type Snapshot } from "./snapshot.js";

/** What a tensor of a checkpoint is, told by its name. */
type Place =
  | { readonly kind: "param" | "extra"; readonly path: string }
  | {
      readonly kind: "slot";
      readonly optimizer: string;
      readonly path: string;
      readonly slot: string;
    }
  | { readonly kind: "step"; readonly optimizer: string; readonly path: string | undefined };

function placeOf(name: string): Place | undefined {
  const [, head, rest = ""] = /^(param|extra|optimizer)\/(.*)$/s.exec(name) ?? [];
  if (head === "param" || head === "extra") return { kind: head, path: rest };
  if (head === undefined) return undefined;
  const end = rest.indexOf("/");
  const last = rest.lastIndexOf("/");
  const optimizer = rest.slice(0, end);
  const slot = rest.slice(last + 1);
  if (end <= 0 || slot === "") return undefined;
  if (end === last) {
    return slot === "step" ? { kind: "step", optimizer, path: undefined } : undefined;
  }
  const path = rest.slice(end + 1, last);
  return slot === "step"
    ? { kind: "step", optimizer, path }
    : { kind: "slot", optimizer, path, slot };
}

/** A checkpoint's metadata, read. */
export interface Head {
  readonly version: number;
  readonly step: number;
  readonly configText: string;
  readonly config: Json;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly optimizers: readonly ListedOptimizer[];
}

interface ListedOptimizer {
  readonly name: string;
  readonly byPath: boolean;
  readonly hyperparameters?: Json;
}

/** The version of a checkpoint. Throws `invalid-checkpoint` for another file, `unsupported-version` for a newer one. */
export function readVersion(metadata: ReadonlyMap<string, string>): number {
  if (metadata.get("format") !== "tensorjar-checkpoint") {
    throw new TensorjarError(
      "invalid-checkpoint",
      "this safetensors file is no tensorjar checkpoint: its metadata do not say so",
      {
        name: "format",
        expected: "tensorjar-checkpoint",
        actual: metadata.get("format"),
        hint: "tensors without a training state are read with openSafetensors, or with load of the package tensorjar",
      },
    );
  }
  const text = required(metadata, "version");
  const stated = count.test(text) ? Number(text) : 0; // perhaps past what an integer may be here
  if (stated > schemaVersion) throw newerVersion(stated, schemaVersion);
  const version = integer(metadata, "version");
  if (version < 1) throw invalid("the checkpoint has version 0, the first is 1");
  return version;
}

/** Reads the metadata. Throws `invalid-checkpoint`. */
export function readHead(metadata: ReadonlyMap<string, string>): Head {
  const configText = required(metadata, "config");
  const metrics = metadata.get("metrics");
  return {
    version: readVersion(metadata),
    step: integer(metadata, "step"),
    configText,
    config: parseJson(configText, "config"),
    optimizers: readOptimizers(
      parseJson(required(metadata, "optimizers"), "optimizers", { finite: true }),
    ),
    ...(metrics === undefined ? {} : { metrics: readMetrics(parseJson(metrics, "metrics")) }),
  };
}

/** An integer from 0 as it is written. */
const count = /^(0|[1-9]\d*)$/;

function invalid(message: string, name?: string): TensorjarError {
  return new TensorjarError("invalid-checkpoint", message, name === undefined ? {} : { name });
}

function required(metadata: ReadonlyMap<string, string>, key: string): string {
  const text = metadata.get(key);
  if (text === undefined) throw invalid(`the checkpoint's metadata have no ${quote(key)}`, key);
  return text;
}

function integer(metadata: ReadonlyMap<string, string>, key: string): number {
  const text = required(metadata, key);
  const value = Number(text);
  if (count.test(text) && Number.isSafeInteger(value)) return value;
  throw invalid(`the checkpoint's ${key} is ${quote(text)}, not an integer from 0 to 2^53-1`, key);
}

function readOptimizers(list: Json): ListedOptimizer[] {
  const wrong = (): TensorjarError =>
    invalid(
      "the checkpoint's optimizers are not a list of { name, steps?, hyperparameters? }",
      "optimizers",
    );
  if (!Array.isArray(list)) throw wrong();
  const seen = new Set<string>();
  return list.map((item: Json): ListedOptimizer => {
    if (!isJsonObject(item)) throw wrong();
    const { name, steps, hyperparameters } = item;
    if (
      typeof name !== "string" ||
      !/^[^/]+$/.test(name) ||
      !(steps === undefined || steps === "by-path")
    )
      throw wrong();
    if (seen.has(name)) throw invalid(`the checkpoint lists the optimizer ${quote(name)} twice`);
    seen.add(name);
    return {
      name,
      byPath: steps !== undefined,
      ...(hyperparameters === undefined ? {} : { hyperparameters }),
    };
  });
}

function readMetrics(metrics: Json): Record<string, number> {
  if (!isJsonObject(metrics)) throw invalid("the checkpoint's metrics are no object", "metrics");
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => {
      if (typeof value === "number") return [name, value];
      if (value === "NaN" || value === "Infinity" || value === "-Infinity") {
        return [name, Number(value)];
      }
      throw invalid(`the checkpoint's metric ${quote(name)} is not a number`, "metrics");
    }),
  );
}

/** What a tensor of the file has to be for its name, checked against its header alone. */
interface Info {
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** Throws `invalid-checkpoint` with every tensor that has no place in a checkpoint with this head. */
export function checkNames(head: Head, tensors: ReadonlyMap<string, Info>): void {
  const faults: string[] = [];
  const unstepped = new Set(head.optimizers.map(({ name }) => name));
  for (const { name, byPath } of head.optimizers) if (byPath) unstepped.delete(name);
  const listedNames = new Set(head.optimizers.map(({ name }) => name));
  for (const [name, { dtype, shape }] of tensors) {
    const place = placeOf(name);
    if (place === undefined) {
      faults.push(`tensor ${quote(name)} is under none of param/, optimizer/NAME/ and extra/`);
    } else if ("optimizer" in place && !listedNames.has(place.optimizer)) {
      faults.push(`tensor ${quote(name)} belongs to an optimizer that is not listed`);
    } else if (place.kind === "step") {
      unstepped.delete(place.optimizer);
      if (dtype !== "int64" || shape.length > 0) {
        faults.push(
          `the step ${quote(name)} is ${dtype} of ${shape.length} axes, not an int64 scalar`,
        );
      }
      if (place.path !== undefined && tensors.has(`optimizer/${place.optimizer}/step`)) {
        faults.push(`the step ${quote(name)} stands beside one for the whole optimizer`);
      }
    }
  }
  for (const name of unstepped) faults.push(`the optimizer ${quote(name)} has no step`);
  if (faults.length > 0) throw invalid(`the checkpoint does not fit together:${listed(faults)}`);
}

/** What was found of an optimizer so far. */
interface OptimizerParts {
  readonly listed: ListedOptimizer;
  common: number | undefined;
  readonly steps: Map<string, number>;
  readonly slots: Map<string, Map<string, Tensor>>;
}

/** The snapshot that the tensors of a file make. Throws `invalid-checkpoint`. */
export function assemble(head: Head, tensors: ReadonlyMap<string, Tensor>): Snapshot {
  const params = new Map<string, Tensor>();
  const extra = new Map<string, Tensor>();
  const parts = new Map(
    head.optimizers.map((listed): [string, OptimizerParts] => [
      listed.name,
      { listed, common: undefined, steps: new Map(), slots: new Map() },
    ]),
  );
  for (const [name, tensor] of tensors) {
    const place = placeOf(name);
    if (place === undefined) continue; // checkNames refused it
    if (place.kind === "param") params.set(place.path, tensor);
    else if (place.kind === "extra") extra.set(place.path, tensor);
    else if (place.kind === "slot" || place.kind === "step") {
      const part = parts.get(place.optimizer);
      if (part === undefined) continue; // as above
      if (place.kind === "slot") {
        const slot = part.slots.get(place.slot) ?? new Map<string, Tensor>();
        part.slots.set(place.slot, slot.set(place.path, tensor));
      } else {
        const step = stepValue(tensor, name);
        if (place.path === undefined) part.common = step;
        else part.steps.set(place.path, step);
      }
    }
  }
  const optimizers = new Map<string, OptimizerSnapshot>();
  for (const [name, { listed, common, steps, slots }] of parts) {
    if (listed.byPath && common !== undefined) {
      for (const path of slotPaths(slots)) steps.set(path, common);
    }
    const step = common === undefined || listed.byPath ? steps : common;
    const { hyperparameters } = listed;
    optimizers.set(name, {
      step,
      slots,
      ...(hyperparameters === undefined ? {} : { hyperparameters }),
    });
  }
  const { version, step, config, configText, metrics } = head;
  return freezeSnapshot({
    version,
    step,
    params,
    optimizers,
    config,
    configText,
    ...(metrics === undefined ? {} : { metrics }),
    extra,
  });
}

function stepValue(tensor: Tensor, name: string): number {
  const value = Number(tensor.data[0]);
  if (tensor.dtype === "int64" && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid(
    `the step ${quote(name)} is ${String(tensor.data[0])}, not an integer from 0 to 2^53-1`,
    name,
  );
}
