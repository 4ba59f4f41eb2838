import { isTensorjarError, TensorjarError } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";
import type { Catalog } from "./catalog.js";
import type { CheckpointFormat, VerifyOptions } from "./format.js";
import { checkStep, listed } from "./json.js";
import { mayPass } from "./patience.js";
import { byMetric, type CheckpointInfo, checkMode } from "./retention.js";
import type { Snapshot } from "./snapshot.js";
import type { Store } from "./store.js";

/** Which checkpoint: the one of the highest step, of a step, or the best by a metric. */
export type Which = "latest" | { step: number } | { best: string; mode: "min" | "max" };

/** A checkpoint that was passed over, and why. */
export interface Skipped {
  readonly name: string;
  readonly error: TensorjarError;
}

/** What was asked for, the first choice first. A step has no second choice. Rejects with `not-found`. */
export async function candidates(
  catalog: Catalog,
  which: Which = "latest",
): Promise<readonly CheckpointInfo[]> {
  if (which === "latest") {
    return (await catalog.files()).map(({ step, name, size }) => ({ step, name, size })).reverse();
  }
  if (typeof which === "object" && which !== null && "step" in which) {
    const { step } = which;
    checkStep(step, "which.step");
    const found = (await catalog.files()).find((file) => file.step === step);
    if (found !== undefined) return [{ step, name: found.name, size: found.size }];
    throw new TensorjarError("not-found", `there is no checkpoint of step ${step}`, {
      expected: step,
    });
  }
  if (typeof which === "object" && which !== null && typeof which.best === "string") {
    checkMode(which.mode);
    const infos = (await catalog.infos()).map(({ info }) => info);
    const best = byMetric(infos, which.best, which.mode);
    if (best.length > 0 || infos.length === 0) return best;
    throw new TensorjarError("not-found", `no checkpoint has the metric ${quote(which.best)}`, {
      name: which.best,
    });
  }
  throw new TensorjarError("invalid-argument", `which is ${describe(which)}`, {
    name: "which",
    hint: 'give "latest", { step } or { best, mode }',
  });
}

/** How often the list is read again because another process deleted what it named, newer ones being there then. */
const attempts = 20;

/** Loads the first candidate that is whole. Rejects with its error when a step was asked for, `invalid-checkpoint` when none is. */
export async function findCheckpoint(
  store: Store,
  format: CheckpointFormat,
  catalog: Catalog,
  which: Which | undefined,
  options: VerifyOptions,
): Promise<{ snapshot: Snapshot; skipped: readonly Skipped[] } | undefined> {
  search: for (let attempt = 1; ; attempt++) {
    const skipped: Skipped[] = [];
    for (const { name, step } of await candidates(catalog, which)) {
      try {
        return { snapshot: await loadPatiently(store, format, name, step, options), skipped };
      } catch (cause) {
        const error = asError(cause, name);
        if (error.code === "not-found" && attempt < attempts) continue search;
        skipped.push({ name, error });
      }
    }
    const [first] = skipped;
    if (first === undefined) return undefined;
    if (typeof which === "object" && "step" in which) throw first.error;
    throw new TensorjarError(
      "invalid-checkpoint",
      `none of the checkpoints is whole:${listed(skipped.map((s) => `${s.name}: ${s.error.message}`))}`,
      { name: first.name },
      { cause: first.error },
    );
  }
}

/** A checkpoint is passed over for what is in it, not because reading failed once. */
async function loadPatiently(...args: Parameters<typeof load>): Promise<Snapshot> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await load(...args);
    } catch (cause) {
      const error = asError(cause, args[2]);
      if (!mayPass(error, attempt)) throw error;
    }
  }
}

async function load(
  store: Store,
  format: CheckpointFormat,
  name: string,
  step: number,
  { verify }: VerifyOptions,
): Promise<Snapshot> {
  const snapshot = await format.load(store.open(name), verify === undefined ? {} : { verify });
  checkNamed({ name, step }, snapshot.step);
  return snapshot;
}

/** Throws `invalid-checkpoint` for a file that was renamed to another step. */
export function checkNamed({ name, step }: { name: string; step: number }, actual: number): void {
  if (actual === step) return;
  throw new TensorjarError(
    "invalid-checkpoint",
    `${quote(name)} holds step ${actual}, which is not what it is called`,
    { name, expected: step, actual },
  );
}

function asError(cause: unknown, name: string): TensorjarError {
  if (isTensorjarError(cause)) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TensorjarError("io", `${quote(name)} could not be read: ${why}`, { name }, { cause });
}
