import {
  type CheckpointInfo,
  keepAny,
  keepBest,
  keepEvery,
  keepLatest,
  memoryStore,
  openCheckpoints,
  type RetentionPolicy,
  type Store,
  tensor,
} from "@tensorjar/checkpoint";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

const info = (step: number, loss?: number): CheckpointInfo => ({
  step,
  name: String(step),
  size: 1,
  ...(loss === undefined ? {} : { metrics: { loss } }),
});
const history = [info(100, 3), info(9900, 1), info(10_000), info(200, 1), info(300, Number.NaN)];
const kept = (policy: RetentionPolicy) => [...policy(history)].sort((a, b) => a - b);

describe("policies", () => {
  test("keep the latest by number, whatever the order", () => {
    expect(kept(keepLatest(2))).toEqual([9900, 10_000]);
    expect(kept(keepLatest(Number.POSITIVE_INFINITY))).toHaveLength(5);
  });

  test("keep every so many steps", () => {
    expect(kept(keepEvery(1000))).toEqual([10_000]);
    expect(kept(keepEvery(100))).toHaveLength(5);
  });

  test("keep the best by a metric, the later of two that are equal, and nothing without it", () => {
    expect(kept(keepBest(1, "loss", "min"))).toEqual([9900]);
    expect(kept(keepBest(2, "loss", "min"))).toEqual([200, 9900]);
    expect(kept(keepBest(9, "loss", "max"))).toEqual([100, 200, 9900]);
    expect(kept(keepBest(1, "loss", "max"))).toEqual([100]);
    expect(kept(keepBest(1, "toString", "min"))).toEqual([]);
  });

  test("keep what any of several keeps", () => {
    expect(kept(keepAny(keepLatest(1), keepBest(1, "loss", "max")))).toEqual([100, 10_000]);
    expect(kept(keepAny())).toEqual([]);
  });

  test("refuse counts and modes that mean nothing", async () => {
    const mode = "least" as "min"; // what a program without types may give
    for (const make of [
      () => keepLatest(0),
      () => keepLatest(1.5),
      () => keepEvery(0),
      () => keepEvery(Number.POSITIVE_INFINITY),
      () => keepBest(-1, "loss", "min"),
      () => keepBest(1, "loss", mode),
    ]) {
      await expectError(make, { code: "invalid-argument" });
    }
  });
});

const file = (step: number) => `step-${String(step).padStart(12, "0")}.safetensors`;
const state = (step: number, loss?: number) => ({
  params: { w: tensor(Float32Array.of(step)) },
  optimizers: {},
  step,
  ...(loss === undefined ? {} : { metrics: { loss } }),
});

async function names(store: Store): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of store.list()) found.push(name);
  return found;
}

const policy = fc.oneof(
  fc.nat(3).map((n) => keepLatest(n + 1)),
  fc.nat(4).map((n) => keepEvery(n + 1)),
  fc
    .tuple(fc.nat(2), fc.constantFrom("min" as const, "max" as const))
    .map(([n, mode]) => keepBest(n + 1, "loss", mode)),
);
const event = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      save: fc.integer({ min: 9895, max: 10_005 }),
      loss: fc.option(fc.integer({ min: -2, max: 2 }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ restore: true as const }) },
  { weight: 1, arbitrary: fc.constant({ reopen: true as const }) },
);

describe("retention", () => {
  test("keeps exactly what the policies say, and the newest, the last saved, the one resumed from and foreign files", {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(policy, { minLength: 1, maxLength: 3 }),
        fc.array(event, { maxLength: 12 }),
        async (policies, events) => {
          const keep = keepAny(...policies);
          const store = memoryStore();
          await store.put("step-notes.txt", [Uint8Array.of(1)]);
          let checkpoints = openCheckpoints(store, { keep });
          const expected = new Map<number, CheckpointInfo>();
          let resumed: number | undefined;
          for (const happening of events) {
            if ("reopen" in happening) {
              await checkpoints.close();
              checkpoints = openCheckpoints(store, { keep });
              resumed = undefined;
              continue;
            }
            if ("restore" in happening) {
              resumed = (await checkpoints.restore(state(0)))?.step ?? resumed;
              continue;
            }
            const { save: step, loss } = happening;
            await checkpoints.save(state(step, loss));
            expected.set(step, info(step, loss));
            const stays = keep([...expected.values()]);
            const newest = Math.max(...expected.keys());
            for (const old of [...expected.keys()]) {
              if (!stays.has(old) && ![step, newest, resumed].includes(old)) expected.delete(old);
            }
            const left = [...expected.keys()].sort((a, b) => a - b).map(file);
            expect((await names(store)).sort()).toEqual([...left, "step-notes.txt"].sort());
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test("never counts a damaged checkpoint, and never deletes one", async () => {
    const store = memoryStore();
    const first = openCheckpoints(store, { keep: keepLatest(9) });
    for (const step of [1, 2, 3]) await first.save(state(step));
    await first.close();
    const source = await store.open(file(3));
    const bytes = (await source.read(0, source.size)).slice();
    bytes[bytes.length - 1]! ^= 1; // it is not empty
    await store.put(file(3), [bytes]);
    await store.put(file(4), [Uint8Array.of(1, 2, 3)]);
    const second = openCheckpoints(store, { keep: keepLatest(1) });
    expect((await second.restore(state(0)))?.step).toBe(2);
    await second.save(state(2));
    expect(await names(store)).toEqual([file(2), file(3), file(4)]);
    await second.save(state(3));
    await second.save(state(5));
    expect(await names(store)).toEqual([file(2), file(4), file(5)]);
  });

  test("deletes nothing before the new file is there, and nothing when it does not get there", async () => {
    const inner = memoryStore();
    const events: string[] = [];
    let full = false;
    const store: Store = {
      ...inner,
      async put(name, chunks, options) {
        if (full) throw new Error("disk full");
        const put = await inner.put(name, chunks, options);
        events.push(`put ${name}`);
        return put;
      },
      async delete(name) {
        events.push(`delete ${name}`);
        await inner.delete(name);
      },
    };
    const checkpoints = openCheckpoints(store, { keep: keepLatest(1) });
    await checkpoints.save(state(1));
    await checkpoints.save(state(2));
    expect(events).toEqual([`put ${file(1)}`, `put ${file(2)}`, `delete ${file(1)}`]);
    full = true;
    await expect(checkpoints.save(state(3))).rejects.toThrow("disk full");
    expect(await names(store)).toEqual([file(2)]);
  });

  test("that fails does not fail the save; it is told by flush and made up for by the next", async () => {
    const inner = memoryStore();
    let broken = true;
    const store: Store = {
      ...inner,
      async delete(name) {
        if (broken) throw new Error("not permitted");
        await inner.delete(name);
      },
    };
    const checkpoints = openCheckpoints(store, { keep: keepLatest(1) });
    await checkpoints.save(state(1));
    expect((await checkpoints.save(state(2))).step).toBe(2);
    await expect(checkpoints.flush()).rejects.toThrow("not permitted");
    broken = false;
    await checkpoints.save(state(3));
    await checkpoints.flush();
    expect(await names(store)).toEqual([file(3)]);
  });

  test("goes by steps alone: a clock that jumps changes nothing", async () => {
    const now = Date.now;
    const store = memoryStore();
    const checkpoints = openCheckpoints(store, { keep: keepLatest(2) });
    try {
      for (const [step, time] of [
        [1, 5e12],
        [2, 0],
        [3, 9e12],
        [4, 1],
      ] as const) {
        Date.now = () => time;
        await checkpoints.save(state(step));
      }
    } finally {
      Date.now = now;
    }
    expect(await names(store)).toEqual([file(3), file(4)]);
  });
});
