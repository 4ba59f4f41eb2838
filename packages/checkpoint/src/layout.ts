import { type Tensor, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { jsonText } from "./json.js";
import type { OptimizerSnapshot, Snapshot } from "./snapshot.js";

/** The schema's version that is written, and the newest that is read. */
export const schemaVersion = 1;

function checkPart(part: string, what: "an optimizer" | "a slot"): void {
  if (part !== "" && !part.includes("/") && (what === "an optimizer" || part !== "step")) return;
  throw new TensorjarError("invalid-name", `${quote(part)} cannot be the name of ${what}`, {
    name: part,
    hint: "it must not be empty, hold a `/`, or (for a slot) be `step`",
  });
}

/** The tensors of a checkpoint by their names in the file. Throws `invalid-name`. */
export function namedTensors(snapshot: Snapshot): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [path, tensor] of snapshot.params) tensors.set(`param/${path}`, tensor);
  for (const [path, tensor] of snapshot.extra) tensors.set(`extra/${path}`, tensor);
  for (const [name, optimizer] of snapshot.optimizers) {
    checkPart(name, "an optimizer");
    const prefix = `optimizer/${name}`;
    for (const [slot, slotTensors] of optimizer.slots) {
      checkPart(slot, "a slot");
      for (const [path, tensor] of slotTensors) tensors.set(`${prefix}/${path}/${slot}`, tensor);
    }
    const common = commonStep(optimizer);
    if (common !== undefined) tensors.set(`${prefix}/step`, stepTensor(common));
    else if (typeof optimizer.step !== "number") {
      for (const [path, step] of optimizer.step) {
        tensors.set(`${prefix}/${path}/step`, stepTensor(step));
      }
    }
  }
  return tensors;
}

function stepTensor(step: number): Tensor {
  return { dtype: "int64", shape: [], data: BigInt64Array.of(BigInt(step)) };
}

/** The one step that stands for all: of the optimizer, or of every path with a slot where they agree. */
function commonStep({ step, slots }: OptimizerSnapshot): number | undefined {
  if (typeof step === "number") return step;
  const [first] = step.values();
  const paths = slotPaths(slots);
  const same = paths.size === step.size && [...step].every(([p, n]) => n === first && paths.has(p));
  return same ? first : undefined;
}

export function slotPaths(slots: OptimizerSnapshot["slots"]): Set<string> {
  const paths = new Set<string>();
  for (const tensors of slots.values()) for (const path of tensors.keys()) paths.add(path);
  return paths;
}

/** What the metadata say besides the checksums, in the order of their keys. */
export function headMetadata(snapshot: Snapshot): Map<string, string> {
  const optimizers = Array.from(snapshot.optimizers, ([name, { step, hyperparameters }]) => ({
    name,
    ...(typeof step === "number" ? {} : { steps: "by-path" }),
    ...(hyperparameters === undefined ? {} : { hyperparameters }),
  }));
  const metadata = new Map([
    ["format", "tensorjar-checkpoint"],
    ["optimizers", jsonText(optimizers, "optimizers")],
    ["step", String(snapshot.step)],
    ["version", String(schemaVersion)],
    ["config", snapshot.configText],
  ]);
  if (snapshot.metrics !== undefined) {
    const metrics = Object.entries(snapshot.metrics).map(([name, value]) => [
      name,
      Number.isFinite(value) ? value : String(value), // JSON has no NaN and no infinities
    ]);
    metadata.set("metrics", jsonText(Object.fromEntries(metrics), "metrics"));
  }
  return metadata;
}
