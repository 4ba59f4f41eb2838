import {
  isTensor,
  isTensorjarError,
  type Problem,
  type Tensor,
  TensorjarError,
} from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import type { NpyArray, NpzFile } from "@tensorjar/npz";
import { listed } from "./json.js";
import { newerVersion } from "./newer-version.js";
import { headNames, npzPlace, npzVersion } from "./npz-names.js";
import { parseJson } from "./parse-json.js";
import { sameShape } from "./shape.js";
import { freezeSnapshot, type OptimizerSnapshot, type Snapshot } from "./snapshot.js";

/** Everything that is wrong with a checkpoint, told at once. */
export class Faults {
  readonly #lines: string[] = [];
  readonly #problems: Problem[] = [];

  add(line: string, problem: Problem): void {
    this.#lines.push(line);
    this.#problems.push(problem);
  }

  throwAny(): void {
    if (this.#lines.length === 0) return;
    throw new TensorjarError(
      "invalid-checkpoint",
      `the checkpoint does not hold together:${listed(this.#lines)}`,
      { problems: this.#problems },
    );
  }
}

/** Before anything else: another version may mean other names. */
export async function checkVersion(file: NpzFile): Promise<void> {
  const faults = new Faults();
  const name = headNames.version;
  const array = file.names.includes(name) ? await file.get(name) : missing(name, faults);
  const stored = array?.dtype.includes("int") && isTensor(array) ? Number(array.data[0]) : 0;
  if (stored > npzVersion) throw newerVersion(stored, npzVersion);
  if (array && integer(name, array, faults) === 0) {
    faults.add("the version is 0, the first is 1", { kind: "unexpected", path: name, actual: 0 });
  }
  faults.throwAny();
}

function missing(name: string, faults: Faults): undefined {
  faults.add(`${quote(name)} is missing`, { kind: "missing", path: name });
}

/** A count stored as () or (1,) of any integer dtype. */
function integer(name: string, array: NpyArray, faults: Faults): number | undefined {
  const one = array.shape.length === 0 || (array.shape.length === 1 && array.shape[0] === 1);
  const { dtype } = array;
  if (!one || !/^u?int\d+$/.test(dtype) || !isTensor(array)) {
    faults.add(`${quote(name)} is ${dtype} of shape [${array.shape.join(", ")}], not one integer`, {
      kind: one ? "dtype" : "shape",
      path: name,
      expected: "one integer",
      actual: { dtype, shape: array.shape },
    });
    return undefined;
  }
  const value = Number(array.data[0]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  faults.add(`${quote(name)} is ${array.data[0]}, not an integer from 0 to 2^53-1`, {
    kind: "unexpected",
    path: name,
    expected: "an integer from 0 to 2^53-1",
    actual: array.data[0],
  });
  return undefined;
}

export function readHead(
  arrays: ReadonlyMap<string, NpyArray>,
  faults: Faults,
): Pick<Snapshot, "version" | "step" | "config" | "configText"> {
  const step = arrays.get(headNames.step);
  const config = arrays.get(headNames.config);
  const count =
    step === undefined ? missing(headNames.step, faults) : integer(headNames.step, step, faults);
  const text =
    config === undefined ? missing(headNames.config, faults) : configText(config, faults);
  let parsed: Snapshot["config"] = {};
  try {
    if (text !== undefined) parsed = parseJson(text, "config");
  } catch (error) {
    if (!isTensorjarError(error, "invalid-checkpoint")) throw error;
    faults.add(error.message, { kind: "unexpected", path: headNames.config });
  }
  return { version: npzVersion, step: count ?? 0, config: parsed, configText: text ?? "{}" };
}

function configText(config: NpyArray, faults: Faults): string | undefined {
  const name = headNames.config;
  if (config.dtype !== "uint8" || config.shape.length > 1) {
    faults.add(
      `the config (${quote(name)}) is ${config.dtype} of ${config.shape.length} axes, not bytes`,
      {
        kind: "dtype",
        path: name,
        expected: "uint8",
        actual: config.dtype,
      },
    );
    return undefined;
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(config.data);
  } catch {
    faults.add(`the config (${quote(name)}) is not UTF-8`, { kind: "unexpected", path: name });
    return undefined;
  }
}

/** A group as found: three entries when it is whole. */
interface Found {
  step?: NpyArray;
  exp_avg?: NpyArray;
  exp_avg_sq?: NpyArray;
}

/** The snapshot that the entries of an archive make. Throws `invalid-checkpoint`, listing everything. */
export function assemble(arrays: ReadonlyMap<string, NpyArray>): Snapshot {
  const faults = new Faults();
  const head = readHead(arrays, faults);
  const params = new Map<string, Tensor>();
  const extra = new Map<string, Tensor>();
  const found = new Map<string, Map<string, Found>>();
  const numbers = (name: string, array: NpyArray): array is Tensor => {
    if (isTensor(array)) return true;
    faults.add(`${quote(name)} holds ${array.dtype}, not numbers`, {
      kind: "dtype",
      path: name,
      actual: array.dtype,
    });
    return false;
  };
  for (const [name, array] of arrays) {
    const place = npzPlace(name);
    if (place.kind === "state") {
      const { optimizer, group, field } = place;
      const groups = found.get(optimizer) ?? new Map<string, Found>();
      found.set(optimizer, groups.set(group, { ...groups.get(group), [field]: array }));
    } else if (place.kind !== "head" && numbers(name, array)) {
      if (place.kind === "param") params.set(place.path, array);
      else extra.set(name, array);
    }
  }
  const optimizers = new Map<string, OptimizerSnapshot>();
  for (const [name, groups] of found) {
    const steps = new Map<string, number>();
    const first = new Map<string, Tensor>();
    const second = new Map<string, Tensor>();
    for (const [group, { step, exp_avg, exp_avg_sq }] of groups) {
      const prefix = `optimizer___${name}___${group}`;
      const fields = { step, exp_avg, exp_avg_sq };
      for (const [field, array] of Object.entries(fields)) {
        if (array === undefined) missing(`${prefix}___${field}`, faults);
      }
      const count = step && integer(`${prefix}___step`, step, faults);
      if (count !== undefined) steps.set(group, count);
      if (exp_avg && numbers(`${prefix}___exp_avg`, exp_avg)) first.set(group, exp_avg);
      if (exp_avg_sq && numbers(`${prefix}___exp_avg_sq`, exp_avg_sq))
        second.set(group, exp_avg_sq);
      if (exp_avg && exp_avg_sq && !sameShape(exp_avg.shape, exp_avg_sq.shape)) {
        const shapes = `[${exp_avg.shape.join(", ")}] and [${exp_avg_sq.shape.join(", ")}]`;
        faults.add(`${quote(`${prefix}___exp_avg`)} and exp_avg_sq have the shapes ${shapes}`, {
          kind: "shape",
          path: `${prefix}___exp_avg`,
          expected: exp_avg_sq.shape,
          actual: exp_avg.shape,
        });
      }
    }
    const slots = new Map([
      ["exp_avg", first],
      ["exp_avg_sq", second],
    ]);
    optimizers.set(name, { step: steps, slots });
  }
  faults.throwAny();
  return freezeSnapshot({ ...head, params, optimizers, extra });
}
