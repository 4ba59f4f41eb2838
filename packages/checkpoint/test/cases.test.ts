import {
  inspectCheckpoint,
  npzCheckpoint,
  ofType,
  type Snapshot,
  type Tensor,
  verifyCheckpoint,
} from "@tensorjar/checkpoint";
import { describe, expect, test } from "vitest";
import { type Case, loadCases } from "../../../tooling/cases.js";
import { type ArrayRecord, expectError, expectRecord } from "../../../tooling/testing.js";
import { gather } from "./support.js";

type Arrays = readonly (readonly [name: string, record: ArrayRecord])[];
type Numbers = readonly (readonly [name: string, values: readonly number[]])[];

interface CheckpointCase extends Case {
  readonly checkpoint?: {
    readonly version: number;
    readonly step: number;
    readonly config: string;
    readonly params: Arrays;
    readonly optimizers: readonly (readonly [
      name: string,
      groups: readonly (readonly [
        group: string,
        state: { step: number; expAvg: ArrayRecord; expAvgSq: ArrayRecord },
      ])[],
    ])[];
    readonly extra: Arrays;
  };
  readonly resume?: {
    readonly learningRate: number;
    readonly betas: readonly [number, number];
    readonly eps: number;
    readonly gradient: Numbers;
    readonly after: { params: Numbers; step: number; expAvg: Numbers; expAvgSq: Numbers };
  };
}

const { cases, read } = await loadCases<CheckpointCase>("checkpoint");

async function bytesOf(id: string): Promise<Uint8Array<ArrayBuffer>> {
  const found = cases.find((c) => c.id === id);
  if (typeof found?.file !== "string") throw new Error(`no case ${id}`);
  return read(found.file);
}

async function expectAll(actual: ReadonlyMap<string, Tensor>, records: Arrays): Promise<void> {
  expect([...actual.keys()]).toEqual(records.map(([name]) => name));
  for (const [name, record] of records) {
    const found = actual.get(name);
    if (found === undefined) throw new Error(`${name} is missing`);
    await expectRecord(found, record);
  }
}

describe("checkpoints of the gsplat gem", () => {
  test.each(cases)("$id: $title", async ({ file, expect: outcome, error, checkpoint }) => {
    if (typeof file !== "string") throw new Error("a case without a file");
    const bytes = await read(file);
    if (outcome === "error") {
      await expectError(() => npzCheckpoint.load(bytes), error);
      await expectError(() => verifyCheckpoint(bytes), error);
      return;
    }
    if (checkpoint === undefined) throw new Error("a case without a checkpoint");
    const snapshot = await npzCheckpoint.load(bytes);
    expect(snapshot).toMatchObject({ version: checkpoint.version, step: checkpoint.step });
    expect(snapshot.configText).toBe(checkpoint.config);
    await expectAll(snapshot.params, checkpoint.params);
    await expectAll(snapshot.extra, checkpoint.extra);
    expect([...snapshot.optimizers.keys()]).toEqual(checkpoint.optimizers.map(([name]) => name));
    for (const [name, groups] of checkpoint.optimizers) {
      const { step, slots } = snapshot.optimizers.get(name) ?? {};
      expect(step).toEqual(new Map(groups.map(([group, state]) => [group, state.step])));
      await expectAll(
        slots?.get("exp_avg") ?? new Map(),
        groups.map(([g, s]) => [g, s.expAvg]),
      );
      await expectAll(
        slots?.get("exp_avg_sq") ?? new Map(),
        groups.map(([g, s]) => [g, s.expAvgSq]),
      );
    }
    const summary = await inspectCheckpoint(bytes);
    expect(await verifyCheckpoint(bytes)).toEqual(summary);
    expect([...summary.params.keys()]).toEqual(checkpoint.params.map(([name]) => name));
    expect(summary).toMatchObject({
      format: "npz",
      step: checkpoint.step,
      optimizers: checkpoint.optimizers.map(([name]) => name),
      byteLength: bytes.length,
    });
    expect("polluted" in {}).toBe(false);
  });

  test("are written again byte for byte", async () => {
    const bytes = await bytesOf("ckpt-trainer-sh1-stored");
    expect(await gather(npzCheckpoint.chunks(await npzCheckpoint.load(bytes)))).toEqual(bytes);
  });

  test("of one state are one content, stored and deflated", async () => {
    const stored = await npzCheckpoint.load(await bytesOf("ckpt-trainer-sh1-stored"));
    expect(await npzCheckpoint.load(await bytesOf("ckpt-trainer-sh1"))).toEqual(stored);
    const deflated = await gather(npzCheckpoint.chunks(stored, { compression: "deflate" }));
    expect(deflated.length).toBeLessThan((await bytesOf("ckpt-trainer-sh1-stored")).length);
    expect(await npzCheckpoint.load(deflated)).toEqual(stored);
  });
});

/** Doubles by their place among all doubles, so that the difference of two places counts ulps. */
function place(value: number): bigint {
  const [bits = 0n] = new BigInt64Array(Float64Array.of(value).buffer);
  return bits < 0n ? -(bits & 0x7fffffffffffffffn) : bits;
}

function expectClose(actual: Float64Array, expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) => {
    const ulps = place(actual[i] ?? Number.NaN) - place(value);
    expect(ulps >= -4n && ulps <= 4n, `${actual[i]} is ${ulps} ulp from ${value}`).toBe(true);
  });
}

test.each(cases.filter((c) => c.resume !== undefined))(
  "$id resumes with Adam's next step",
  async ({ file, resume }) => {
    if (typeof file !== "string" || resume === undefined) throw new Error("no resume");
    const { learningRate, betas, eps, gradient, after } = resume;
    const [beta1, beta2] = betas;
    const snapshot: Snapshot = await npzCheckpoint.load(await read(file));
    for (const [name, g] of gradient) {
      const optimizer = snapshot.optimizers.get(name);
      const w = ofType(snapshot.params.get(name), "float64").data;
      const m = ofType(optimizer?.slots.get("exp_avg")?.get("default"), "float64").data;
      const v = ofType(optimizer?.slots.get("exp_avg_sq")?.get("default"), "float64").data;
      const { step } = optimizer ?? {};
      const t = (typeof step === "object" ? (step.get("default") ?? 0) : 0) + 1;
      g.forEach((d, i) => {
        m[i] = beta1 * (m[i] ?? 0) + (1 - beta1) * d;
        v[i] = beta2 * (v[i] ?? 0) + (1 - beta2) * d * d;
        const mean = (m[i] ?? 0) / (1 - beta1 ** t);
        const deviation = Math.sqrt((v[i] ?? 0) / (1 - beta2 ** t));
        w[i] = (w[i] ?? 0) - (learningRate * mean) / (deviation + eps);
      });
      expect(t).toBe(after.step);
      expectClose(w, new Map(after.params).get(name) ?? []);
      expectClose(m, new Map(after.expAvg).get(name) ?? []);
      expectClose(v, new Map(after.expAvgSq).get(name) ?? []);
    }
  },
);
