import {
  npzCheckpoint,
  restoreSnapshot,
  safetensorsCheckpoint,
  type Tensor,
  tensor,
} from "@tensorjar/checkpoint";
import { expect, test } from "vitest";
import { type Random, random } from "../../../tooling/testing.js";
import { gather } from "./support.js";

/** Parameters by name; Float64 or Float32. */
type Arrays = { [name: string]: Tensor<"float32"> | Tensor<"float64"> };

interface Run {
  params: Arrays;
  optimizers: {
    [name: string]: { step: number | { [path: string]: number }; [slot: string]: unknown };
  };
  step: number;
}

/** One of the rules by which optimizers turn a gradient into an update, with the slots that it needs. */
interface Rule {
  readonly slots: readonly string[];
  update(gradient: number, slots: { [name: string]: number }, step: number, weight: number): number;
}

const adam = (decay: number): Rule => ({
  slots: ["exp_avg", "exp_avg_sq"],
  update(g, s, t, w) {
    s["exp_avg"] = 0.9 * (s["exp_avg"] ?? 0) + 0.1 * g;
    s["exp_avg_sq"] = 0.999 * (s["exp_avg_sq"] ?? 0) + 0.001 * g * g;
    const mean = s["exp_avg"] / (1 - 0.9 ** t);
    return 0.01 * (mean / (Math.sqrt(s["exp_avg_sq"] / (1 - 0.999 ** t)) + 1e-8) + decay * w);
  },
});

const rules: { [name: string]: Rule } = {
  adam: adam(0),
  adamw: adam(0.1),
  amsgrad: {
    slots: ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"],
    update(g, s, t, w) {
      const update = adam(0).update(g, s, t, w);
      s["max_exp_avg_sq"] = Math.max(s["max_exp_avg_sq"] ?? 0, s["exp_avg_sq"] ?? 0);
      return update + 1e-3 * Math.sqrt(s["max_exp_avg_sq"]);
    },
  },
  momentum: {
    slots: ["momentum_buffer"],
    update(g, s) {
      s["momentum_buffer"] = 0.9 * (s["momentum_buffer"] ?? 0) + g;
      return 0.01 * s["momentum_buffer"];
    },
  },
  // Steps alone: the rate falls with them.
  decayed: { slots: [], update: (g, _, t) => (0.1 * g) / t },
};

function newArray(rng: Random, dtype: "float32" | "float64", fill: () => number): Arrays[string] {
  const shape = rng.pick([[], [1], [3], [2, 3], [0, 2], [2, 1, 2]]);
  const length = shape.reduce((a, b) => a * b, 1);
  return dtype === "float32"
    ? tensor(Float32Array.from({ length }, fill), shape)
    : tensor(Float64Array.from({ length }, fill), shape);
}

function newRun(rng: Random, rule: Rule, perParameter: boolean): Run {
  const names = ["a", "b", "c", "d"].slice(0, 1 + rng.below(4));
  const dtype = rng.pick(["float32", "float64"] as const);
  const params = Object.fromEntries(
    names.map((name) => [name, newArray(rng, dtype, () => rng.next() - 0.5)]),
  );
  const zeros = () => {
    const slot = structuredClone(params);
    for (const { data } of Object.values(slot)) data.fill(0);
    return slot;
  };
  const slots = Object.fromEntries(rule.slots.map((slot) => [slot, zeros()]));
  const step = perParameter ? Object.fromEntries(names.map((name) => [name, 0])) : 0;
  return { params, optimizers: { optimizer: { step, ...slots } }, step: 0 };
}

function train(run: Run, rule: Rule, updates: number): void {
  const { optimizer } = run.optimizers;
  if (optimizer === undefined) throw new Error("no optimizer");
  for (let done = 0; done < updates; done++) {
    run.step++;
    if (typeof optimizer.step === "number") optimizer.step++;
    for (const [name, { data }] of Object.entries(run.params)) {
      const steps = optimizer.step;
      // Parameters are updated at unlike intervals, so that their counts differ.
      if (typeof steps === "object") {
        if (name === "b" && run.step % 2 === 0) continue;
        steps[name] = (steps[name] ?? 0) + 1;
      }
      const t = typeof steps === "object" ? (steps[name] ?? 0) : steps;
      const slots = rule.slots.map((slot) => (optimizer[slot] as Arrays)[name]?.data); // made so above
      data.forEach((w, i) => {
        const gradient = Math.sin(3 * w + run.step) + w;
        const values = Object.fromEntries(rule.slots.map((slot, s) => [slot, slots[s]?.[i] ?? 0]));
        data[i] = w - rule.update(gradient, values, t, w);
        rule.slots.forEach((slot, s) => {
          const array = slots[s];
          if (array !== undefined) array[i] = values[slot] ?? 0;
        });
      });
    }
  }
}

const containers = { safetensors: safetensorsCheckpoint, npz: npzCheckpoint };

test("50 random runs of every optimizer go on bit for bit, and from a cold start they do not", async () => {
  let resumedRuns = 0;
  for (let seed = 0; seed < 50; seed++) {
    const rng = random(seed);
    const name = rng.pick(Object.keys(rules));
    const rule = rules[name];
    if (rule === undefined) throw new Error("no rule");
    const perParameter = rng.below(2) === 0;
    const make = () => newRun(random(seed + 1000), rule, perParameter);
    const [before, after] = [1 + rng.below(20), 5 + rng.below(20)];
    const whole = make();
    train(whole, rule, before + after);
    const stopped = make();
    train(stopped, rule, before);
    for (const [container, format] of Object.entries(containers)) {
      if (container === "npz" && !name.startsWith("adam")) continue; // the gem knows Adam alone
      const snapshot = await format.load(await gather(format.chunks(stopped)));
      const resumed = newRun(random(seed + 1000), rule, perParameter);
      restoreSnapshot(snapshot, resumed);
      train(resumed, rule, after);
      expect(resumed, `seed ${seed}, ${name} in ${container}`).toEqual(whole);
      const cold = make();
      for (const [path, { data }] of Object.entries(cold.params)) {
        snapshot.params.get(path)?.data.forEach((value, i) => {
          data[i] = Number(value);
        });
      }
      cold.step = snapshot.step;
      train(cold, rule, after);
      const elements = Object.values(cold.params).reduce((sum, { data }) => sum + data.length, 0);
      if (elements > 0) expect(cold.params, `seed ${seed}, ${name}`).not.toEqual(whole.params);
      resumedRuns++;
    }
  }
  expect(resumedRuns).toBeGreaterThan(60);
});
