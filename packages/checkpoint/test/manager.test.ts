import {
  type Checkpoints,
  keepAny,
  keepLatest,
  type LeafAdapter,
  memoryStore,
  npzCheckpoint,
  openCheckpoints,
  type Store,
  safetensorsCheckpoint,
  TensorjarError,
  takeSnapshot,
  tensor,
} from "@tensorjar/checkpoint";
import { nextTurn } from "@tensorjar/core/codec";
import { describe, expect, test } from "vitest";
import { expectError, random } from "../../../tooling/testing.js";
import { faultyStore, gatedStore } from "./faulty-store.js";
import { adamState, content, gather } from "./support.js";

/** The state after `step` updates: all of it depends on the step. */
const stateAt = (step: number) => adamState(random(step), step);
const contentAt = (step: number) => content(takeSnapshot(stateAt(step)));

async function names(store: Store): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of store.list()) found.push(name);
  return found;
}

async function damage(store: Store, name: string): Promise<void> {
  const source = await store.open(name);
  const bytes = (await source.read(0, source.size)).slice();
  bytes[bytes.length - 1]! ^= 1; // it is not empty
  await store.put(name, [bytes]);
}

const file = (step: number) => `step-${String(step).padStart(12, "0")}.safetensors`;

async function restored(checkpoints: Checkpoints): Promise<unknown> {
  const live = stateAt(999);
  const found = await checkpoints.restore(live);
  if (found === undefined) return undefined;
  expect(live.step).toBe(found.step);
  expect(content(takeSnapshot(live))).toEqual(contentAt(found.step));
  return { step: found.step, skipped: found.skipped.map(({ name }) => name) };
}

/** When everything has run that waits for no timer. */
const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

describe("saving and restoring", () => {
  test("starts from nothing, and goes on from the newest", async () => {
    const store = memoryStore();
    const checkpoints = openCheckpoints(store);
    expect(await restored(checkpoints)).toBe(undefined);
    expect(await checkpoints.load()).toBe(undefined);
    expect(await checkpoints.list()).toEqual([]);
    await expectError(() => checkpoints.verify(), { code: "not-found" });
    const info = await checkpoints.save({ ...stateAt(9900), metrics: { loss: 0.5 } });
    expect(info).toEqual({
      step: 9900,
      name: file(9900),
      size: (await store.stat(file(9900)))?.size,
      metrics: { loss: 0.5 },
    });
    await checkpoints.save(stateAt(10_000));
    expect(await names(store)).toEqual([file(9900), file(10_000)]);
    expect((await checkpoints.list()).map(({ step, metrics }) => [step, metrics])).toEqual([
      [9900, { loss: 0.5 }],
      [10_000, undefined],
    ]);
    expect(await checkpoints.verify()).toMatchObject({ step: 10_000 });
    await checkpoints.close();
    expect(await restored(openCheckpoints(store))).toEqual({ step: 10_000, skipped: [] });
  });

  test("orders steps as numbers, however long", async () => {
    const store = memoryStore();
    const checkpoints = openCheckpoints(store, { keep: keepLatest(Number.POSITIVE_INFINITY) });
    for (const step of [2 ** 53 - 1, 10_000, 9900, 999_999_999_999, 1_000_000_000_000]) {
      await checkpoints.save({ ...stateAt(1), step });
    }
    expect((await checkpoints.list()).map(({ step }) => step)).toEqual([
      9900,
      10_000,
      999_999_999_999,
      1_000_000_000_000,
      2 ** 53 - 1,
    ]);
    const live = stateAt(0);
    expect((await checkpoints.restore(live))?.step).toBe(2 ** 53 - 1);
  });

  test("replaces a step that exists, and says so", async () => {
    const checkpoints = openCheckpoints(memoryStore());
    expect((await checkpoints.save(stateAt(5))).replaced).toBe(undefined);
    expect((await checkpoints.save(stateAt(5))).replaced).toBe(true);
    expect(await checkpoints.list()).toHaveLength(1);
  });

  test("loads and restores the step asked for, or the best by a metric", async () => {
    const checkpoints = openCheckpoints(memoryStore(), { keep: keepLatest(9) });
    for (const [step, loss] of [
      [1, 3],
      [2, Number.NaN],
      [3, 1],
      [4, 1],
      [5, 2],
    ] as const) {
      await checkpoints.save({ ...stateAt(step), metrics: { loss } });
    }
    await checkpoints.save(stateAt(6));
    const step = async (which: Parameters<Checkpoints["load"]>[0]) =>
      (await checkpoints.load(which))?.snapshot.step;
    expect(await step({ step: 2 })).toBe(2);
    expect(await step({ best: "loss", mode: "min" })).toBe(4);
    expect(await step({ best: "loss", mode: "max" })).toBe(1);
    expect(await step("latest")).toBe(6);
    expect(await checkpoints.verify({ best: "loss", mode: "max" })).toMatchObject({
      step: 1,
      metrics: { loss: 3 },
    });
    await expectError(() => checkpoints.load({ step: 7 }), { code: "not-found", names: ["7"] });
    await expectError(() => checkpoints.load({ best: "accuracy", mode: "max" }), {
      code: "not-found",
      names: ["accuracy"],
    });
    const wrong: unknown = { best: "loss", mode: "least" };
    await expectError(() => checkpoints.load(wrong as "latest"), { code: "invalid-argument" }); // what a program without types may give
    await expectError(() => checkpoints.load("newest" as "latest"), { code: "invalid-argument" }); // as above
  });

  test("keeps the state as it was when the checkpoint does not fit, and says why", async () => {
    const checkpoints = openCheckpoints(memoryStore());
    await checkpoints.save(stateAt(3));
    const live = adamState(random(4), 0, 3);
    const before = structuredClone(live);
    const error = await expectError(() => checkpoints.restore(live), { code: "tree-mismatch" });
    expect(error.details.problems).toHaveLength(6);
    expect(live).toEqual(before);
  });

  test("works with the other container, and refuses to take one for the other", async () => {
    const store = memoryStore();
    const gem = openCheckpoints(store, {
      format: npzCheckpoint,
      names: { toFile: (p) => p.replaceAll(".", "__"), toTree: (n) => n.replaceAll("__", ".") },
    });
    await gem.save(stateAt(3));
    expect(await names(store)).toEqual(["step-000000000003.npz"]);
    expect((await gem.list())[0]?.size).toBe((await store.stat("step-000000000003.npz"))?.size);
    expect(await restored(gem)).toEqual({ step: 3, skipped: [] });
    expect(await gem.verify()).toMatchObject({ step: 3 });
    await gem.close();
    await expectError(() => restored(openCheckpoints(store)), {
      code: "not-this-format",
      names: ["\\.npz"],
    });
  });

  test("leaves alone what is not its own", async () => {
    const store = memoryStore();
    const foreign = [
      "notes.txt",
      "step-1.safetensors",
      "step-000000000001.safetensors.bak",
      "step-00000000000a.safetensors",
      "step-0000000000001.safetensors",
      "best.safetensors",
      "step-000000000007.npy",
    ];
    for (const name of foreign) await store.put(name, [Uint8Array.of(1)]);
    const checkpoints = openCheckpoints(store, { keep: keepLatest(1) });
    expect(await checkpoints.load()).toBe(undefined);
    for (const step of [1, 2, 3]) await checkpoints.save(stateAt(step));
    expect(await names(store)).toEqual([...foreign, file(3)].sort());
  });

  test("checks its options, and refuses to go on after it was closed", async () => {
    const wrong = [{ keep: 3 }, { onBusy: "sometimes" }] as unknown as [{ onBusy: "wait" }]; // what a program without types may give
    for (const options of wrong) {
      await expectError(() => openCheckpoints(memoryStore(), options), {
        code: "invalid-argument",
      });
    }
    const checkpoints = openCheckpoints(memoryStore());
    await checkpoints.close();
    await checkpoints.close();
    for (const call of [
      () => checkpoints.save(stateAt(1)),
      () => checkpoints.load(),
      () => checkpoints.list(),
      () => checkpoints.flush(),
    ]) {
      await expectError(call, { code: "invalid-argument", names: ["closed"] });
    }
  });
});

describe("a save in the background", () => {
  test("writes the state as it was when save was called, however soon and often it changes", async () => {
    const inner = memoryStore();
    const store = gatedStore(inner);
    const checkpoints = openCheckpoints(store, { keep: keepLatest(9) });
    const live = stateAt(1);
    const saves = [];
    for (const step of [1, 2, 3]) {
      Object.assign(live, stateAt(step));
      saves.push(checkpoints.save(live));
      for (const layer of live.params.layers) layer.weight.data.fill(Number.NaN);
      live.optimizers.adam.step = 77;
      live.step = 77;
    }
    for (const _ of saves) await store.letOneGo();
    await Promise.all(saves);
    for (const step of [1, 2, 3]) {
      const found = await checkpoints.load({ step });
      expect(found && content(found.snapshot)).toEqual(contentAt(step));
    }
  });

  test("lets a loop that awaits the copy run one save ahead of the disk, not more", async () => {
    const store = gatedStore();
    const checkpoints = openCheckpoints(store);
    const events: string[] = [];
    await checkpoints.save(stateAt(1)).snapshotted;
    events.push("first copied");
    const second = checkpoints.save(stateAt(2));
    second.snapshotted.then(() => events.push("second copied"));
    await store.letOneGo();
    events.push("first let go");
    await second.snapshotted;
    await store.letOneGo();
    await second;
    events.push("second durable");
    expect(events).toEqual(["first copied", "first let go", "second copied", "second durable"]);
  });

  test("skips or refuses while another is under way, when told to", async () => {
    for (const onBusy of ["skip", "error"] as const) {
      const store = gatedStore();
      const checkpoints = openCheckpoints(store, { onBusy });
      const first = checkpoints.save(stateAt(1));
      const second = checkpoints.save(stateAt(2));
      await second.snapshotted.catch(() => {});
      await store.letOneGo();
      if (onBusy === "skip") expect((await second).step).toBe(1);
      else await expectError(() => second, { code: "locked", names: ["under way"] });
      expect((await first).step).toBe(1);
      expect((await checkpoints.list()).map(({ step }) => step)).toEqual([1]);
      const third = checkpoints.save(stateAt(3));
      await store.letOneGo();
      expect((await third).step).toBe(3);
    }
  });

  test("tells a failure to whoever awaits it, else the next call", async () => {
    const broken = () => openCheckpoints(faultyStore((operation) => operation <= 1));
    const awaited = broken();
    await expectError(() => awaited.save(stateAt(1)), { code: "io" });
    await awaited.save(stateAt(2));
    await awaited.close();

    for (const next of ["save", "restore", "load", "list", "verify", "flush", "close"] as const) {
      const checkpoints = broken();
      checkpoints.save(stateAt(1));
      await nextTask();
      const calls = {
        save: () => checkpoints.save(stateAt(2)),
        restore: () => checkpoints.restore(stateAt(0)),
        load: () => checkpoints.load(),
        list: () => checkpoints.list(),
        verify: () => checkpoints.verify(),
        flush: () => checkpoints.flush(),
        close: () => checkpoints.close(),
      };
      await expectError(calls[next], { code: "io", names: ["disk is gone"] });
      if (next !== "close") expect((await checkpoints.save(stateAt(3))).step).toBe(3);
    }
  });

  test("tells a failure once, also when it is awaited late", async () => {
    const checkpoints = openCheckpoints(faultyStore((operation) => operation <= 1));
    const failed = checkpoints.save(stateAt(1));
    await failed.snapshotted;
    await nextTask();
    await expectError(() => failed, { code: "io" });
    await checkpoints.flush();
    await checkpoints.save(stateAt(2));
  });

  test("tells a state that cannot be copied once, to whoever awaits its copy", async () => {
    const bad = () => ({ ...stateAt(1), step: -1 });
    const checkpoints = openCheckpoints(memoryStore());
    await expectError(() => checkpoints.save(bad()).snapshotted, { code: "invalid-argument" });
    expect((await checkpoints.save(stateAt(2))).step).toBe(2);
    const late = checkpoints.save(bad());
    await nextTask();
    await expectError(() => late.snapshotted, { code: "invalid-argument" });
    await checkpoints.flush();
    checkpoints.save(bad());
    await nextTask();
    await expectError(() => checkpoints.save(stateAt(3)), { code: "invalid-argument" });
    await checkpoints.close();
  });

  test("fails for a state that cannot be saved, before anything is written", async () => {
    const store = memoryStore();
    const checkpoints = openCheckpoints(store);
    const wrong = checkpoints.save({ ...stateAt(1), config: { lr: Number.NaN } });
    await expectError(() => wrong, { code: "invalid-argument", names: ["config\\.lr"] });
    await expectError(() => wrong.snapshotted, { code: "invalid-argument" });
    await expectError(
      () => checkpoints.save({ ...stateAt(1), optimizers: { "a/b": { step: 1 } } }),
      { code: "invalid-name" },
    );
    expect(await names(store)).toEqual([]);
  });

  test("reads arrays from a device, and tells when they were copied", async () => {
    class Device {
      values = Float32Array.of(1, 2);
    }
    const adapter: LeafAdapter<Device> = {
      is: (x): x is Device => x instanceof Device,
      shape: () => [2],
      dtype: () => "float32",
      read: async (leaf) => tensor(leaf.values.slice()),
      write(leaf, { data }) {
        const before = leaf.values;
        if (data instanceof Float32Array) leaf.values = Float32Array.from(data);
        return {
          undo: () => {
            leaf.values = before;
          },
        };
      },
    };
    const checkpoints = openCheckpoints(memoryStore(), { adapters: [adapter] });
    const live = { params: { w: new Device() }, optimizers: {}, step: 1 };
    for (const step of [1, 2]) {
      live.step = step;
      live.params.w.values = Float32Array.of(step, step);
      const saving = checkpoints.save(live);
      await saving.snapshotted;
      live.params.w.values.fill(9);
      await saving;
      live.step = 9;
      expect((await checkpoints.restore(live))?.step).toBe(step);
      expect(live.params.w.values).toEqual(Float32Array.of(step, step));
    }
  });

  test.each([
    ["safetensors", safetensorsCheckpoint],
    ["npz", npzCheckpoint],
  ])(
    "handles at most 8 MiB in one step of the thread, in chunks of at most that: %s",
    async (_, format) => {
      let turn = 0;
      let running = true;
      const tick = (): void => {
        turn++;
        if (running) void nextTurn().then(tick);
      };
      tick();
      const byTurn = new Map<number, number>();
      let largest = 0;
      let total = 0;
      const store: Store = {
        ...memoryStore(),
        async put(_, chunks) {
          for await (const chunk of chunks) {
            byTurn.set(turn, (byTurn.get(turn) ?? 0) + chunk.length);
            largest = Math.max(largest, chunk.length);
            total += chunk.length;
          }
          return {};
        },
        lock: async () => ({ release: async () => {} }),
      };
      const params = {
        large: tensor(new Float32Array(5 << 20)),
        many: Array.from({ length: 30 }, () => tensor(new Uint8Array(1 << 20))),
      };
      const names = {
        toFile: (path: string) => path.replaceAll(".", "_"),
        toTree: (name: string) => name.replaceAll("_", "."),
      };
      const checkpoints = openCheckpoints(store, { format, names });
      await checkpoints.save({ params, optimizers: {}, step: 1 });
      running = false;
      expect(total).toBeGreaterThan(50 << 20);
      expect(largest).toBeLessThanOrEqual(8 << 20);
      expect(Math.max(...byTurn.values())).toBeLessThanOrEqual(8 << 20);
    },
  );
});

describe("recovery", () => {
  test("restores the newest that is whole, and names those passed over with the reason", async () => {
    const store = memoryStore();
    const checkpoints = openCheckpoints(store, { keep: keepLatest(5) });
    for (const step of [1, 2, 3, 4]) await checkpoints.save(stateAt(step));
    await damage(store, file(4));
    await store.put(file(3), [new Uint8Array(0)]);
    const live = stateAt(0);
    const found = await checkpoints.restore(live);
    expect(found?.step).toBe(2);
    expect(found?.skipped.map(({ name, error }) => [name, error.code])).toEqual([
      [file(4), "checksum-mismatch"],
      [file(3), "truncated"],
    ]);
    expect(content(takeSnapshot(live))).toEqual(contentAt(2));
    await expectError(() => checkpoints.verify(), { code: "checksum-mismatch" });
    await expectError(() => checkpoints.load({ step: 4 }), { code: "checksum-mismatch" });
    expect((await checkpoints.list()).map(({ step }) => step)).toEqual([1, 2, 3, 4]);
  });

  test("passes a checkpoint over for what is in it, not because reading failed once", async () => {
    const inner = memoryStore();
    const writer = openCheckpoints(inner);
    for (const step of [1, 2]) await writer.save(stateAt(step));
    for (const failing of [1, 2, 3, 4, 5, 6, 7]) {
      const found = restored(
        openCheckpoints(faultyStore((operation) => operation === failing, inner)),
      );
      if (failing <= 3)
        await expectError(() => found, { code: "io" }); // the list itself
      else expect(await found).toEqual({ step: 2, skipped: [] });
    }
    const broken: Store = {
      ...inner,
      open: (name) =>
        name === file(2) ? Promise.reject(new Error("bad sector")) : inner.open(name),
    };
    const live = stateAt(0);
    const found = await openCheckpoints(broken).restore(live);
    expect(found?.step).toBe(1);
    expect(found?.skipped.map(({ name, error }) => [name, error.code])).toEqual([[file(2), "io"]]);
  });

  test("ranks by a metric what could not be read at once", async () => {
    const inner = memoryStore();
    const writer = openCheckpoints(inner);
    for (const step of [1, 2]) {
      await writer.save({ ...stateAt(step), metrics: { loss: step } });
    }
    let failures = 2;
    const store: Store = {
      ...inner,
      async open(name) {
        if (name === file(1) && failures-- > 0) throw new TensorjarError("io", "busy");
        return inner.open(name);
      },
    };
    const best = { best: "loss", mode: "min" } as const;
    expect((await openCheckpoints(store).load(best))?.snapshot.step).toBe(1);
  });

  test("refuses when none is whole, listing all", async () => {
    const store = memoryStore();
    const checkpoints = openCheckpoints(store);
    for (const step of [1, 2]) {
      await checkpoints.save(stateAt(step));
      await damage(store, file(step));
    }
    const live = stateAt(0);
    const before = structuredClone(live);
    await expectError(() => checkpoints.restore(live), {
      code: "invalid-checkpoint",
      names: [file(1), file(2), "CRC-32"],
    });
    expect(live).toEqual(before);
  });

  test("does not take a file for the step it was renamed to", async () => {
    const store = memoryStore();
    const bytes = await gather(safetensorsCheckpoint.chunks(stateAt(1)));
    await store.put(file(1), [bytes]);
    await store.put(file(5), [bytes]);
    expect(await restored(openCheckpoints(store))).toEqual({ step: 1, skipped: [file(5)] });
  });

  test("reads the list again when another process deleted what it listed", async () => {
    const inner = memoryStore();
    const writer = openCheckpoints(inner, { keep: keepAny(keepLatest(1), () => new Set([0])) });
    await writer.save(stateAt(0));
    await writer.save(stateAt(1));
    let once = true;
    const store: Store = {
      ...inner,
      async open(name) {
        if (once) {
          once = false;
          await writer.save(stateAt(2));
        }
        return inner.open(name);
      },
    };
    expect(await restored(openCheckpoints(store))).toEqual({ step: 2, skipped: [] });
  });

  test("returns the right state or the one before for every byte of the newest that is flipped, and every cut", {
    timeout: 60_000,
  }, async () => {
    const store = memoryStore();
    const small = (step: number) => ({
      params: { w: tensor(Float32Array.of(step)) },
      optimizers: {},
      step,
    });
    const checkpoints = openCheckpoints(store);
    await checkpoints.save(small(1));
    await checkpoints.save(small(2));
    const source = await store.open(file(2));
    const whole = await source.read(0, source.size);
    const check = async (bytes: Uint8Array) => {
      await store.put(file(2), [bytes]);
      const found = await checkpoints.load();
      const step = found?.skipped.length === 0 ? 2 : 1;
      expect(found?.snapshot.params.get("w")).toEqual(tensor(Float32Array.of(step)));
      expect(found?.snapshot.step).toBe(step);
    };
    for (let at = 0; at < whole.length; at++) {
      const flipped = whole.slice();
      flipped[at]! ^= 1 << (at % 8); // within the array
      await check(flipped);
      await check(whole.subarray(0, at));
    }
  });
});

describe("a store that fails at any operation", () => {
  /** Trains, saving every step; what a save resolved for is durable. */
  async function run(store: Store): Promise<{ durable: number; failures: number }> {
    const checkpoints = openCheckpoints(store, { keep: keepLatest(2) });
    let durable = 0;
    let failures = 0;
    const attempt = async (work: () => Promise<unknown>) => {
      try {
        await work();
      } catch (error) {
        failures++;
        await expectError(() => Promise.reject(error), { code: ["io", "invalid-checkpoint"] });
      }
    };
    await attempt(() => checkpoints.restore(stateAt(0)));
    for (const step of [1, 2, 3, 4]) {
      await attempt(async () => {
        durable = (await checkpoints.save(stateAt(step))).step;
      });
    }
    await attempt(() => checkpoints.close());
    return { durable, failures };
  }

  test("loses no save that was durable, whether it recovers or not", {
    timeout: 60_000,
  }, async () => {
    const { operations } = await (async () => {
      const store = faultyStore(() => false);
      await run(store);
      return store;
    })();
    expect(operations).toBeGreaterThan(40);
    for (let k = 1; k <= operations; k++) {
      for (const failing of [(n: number) => n === k, (n: number) => n >= k]) {
        const inner = memoryStore();
        const { durable } = await run(faultyStore(failing, inner));
        const after = openCheckpoints(inner, { keep: keepLatest(2) });
        const found = await restored(after);
        if (durable === 0 && found === undefined) continue;
        expect(found).toMatchObject({ skipped: [] });
        expect(Reflect.get(Object(found), "step")).toBeGreaterThanOrEqual(durable);
        await after.save(stateAt(5));
        await after.save(stateAt(6));
        await after.save(stateAt(7));
        const left = (await after.list()).map(({ step }) => step);
        expect(left.slice(-2)).toEqual([6, 7]);
        expect(left.length).toBeLessThanOrEqual(3);
      }
    }
  });
});

describe("a store that breaks its word", () => {
  test("and lists files twice has each counted once", async () => {
    const inner = memoryStore();
    const store: Store = {
      ...inner,
      async *list(prefix) {
        for await (const entry of inner.list(prefix)) yield* [entry, entry];
      },
    };
    const checkpoints = openCheckpoints(store, { keep: keepLatest(3) });
    for (const step of [1, 2, 3, 4, 5]) await checkpoints.save(stateAt(step));
    await checkpoints.flush();
    expect(await names(inner)).toEqual([file(3), file(4), file(5)]);
    expect((await checkpoints.list()).map(({ step }) => step)).toEqual([3, 4, 5]);
  });

  test("and knows no file by null, or takes no more chunks than it needs, is served all the same", async () => {
    const inner = memoryStore();
    const store = {
      ...inner,
      stat: async (name: string) => (await inner.stat(name)) ?? null,
      async put(name, chunks, options) {
        const taken: Uint8Array[] = [];
        let left = options?.size ?? 0;
        for await (const chunk of chunks) {
          taken.push(chunk.slice());
          left -= chunk.length;
          if (left === 0) break;
        }
        return inner.put(name, taken);
      },
    } as Store;
    const checkpoints = openCheckpoints(store);
    expect(await checkpoints.save(stateAt(1))).not.toHaveProperty("replaced");
    expect(await restored(checkpoints)).toEqual({ step: 1, skipped: [] });
  });

  test("and keeps less than it was given fails the save, and loses none of those before", async () => {
    const inner = memoryStore();
    let short: "nothing" | "a part" | "a chunk" | undefined;
    const store: Store = {
      ...inner,
      async put(name, chunks, options) {
        if (short === undefined) return inner.put(name, chunks, options);
        if (short === "nothing") return {};
        const taken: Uint8Array[] = [];
        for await (const chunk of chunks) {
          taken.push(chunk.slice(0, -1));
          if (short === "a chunk") break;
        }
        return inner.put(name, taken);
      },
    };
    const checkpoints = openCheckpoints(store, { keep: keepLatest(1) });
    await checkpoints.save(stateAt(1));
    for (short of ["nothing", "a part", "a chunk"] as const) {
      const error = await expectError(() => checkpoints.save(stateAt(2)), {
        code: "io",
        names: [file(2)],
      });
      expect(error.details.name).toBe(file(2));
    }
    expect((await restored(checkpoints)) as object).toMatchObject({ step: 1 });
    short = undefined;
    await checkpoints.save(stateAt(2));
    expect(await names(inner)).toEqual([file(1), file(2)]); // 1 is what was restored
  });
});

describe("two writers", () => {
  test("never write at the same time; who comes later is told, and goes on once the first is closed", async () => {
    const store = memoryStore();
    const first = openCheckpoints(store);
    const second = openCheckpoints(store);
    await first.save(stateAt(1));
    expect(await restored(second)).toEqual({ step: 1, skipped: [] });
    await expectError(() => second.save(stateAt(9)), { code: "locked" });
    expect(await names(store)).toEqual([file(1)]);
    await first.close();
    await second.save(stateAt(2));
    await second.close();
  });

  test("stop when they lost their lock: nothing is committed", async () => {
    let lost = false;
    const inner = memoryStore();
    const store: Store = {
      ...inner,
      lock: async (name) => ({
        release: async () => {},
        async check() {
          for (let holders = 0; lost && holders < 2; holders++) await inner.lock?.(name);
        },
      }),
    };
    const checkpoints = openCheckpoints(store);
    await checkpoints.save(stateAt(1));
    lost = true;
    await expectError(() => checkpoints.save(stateAt(2)), { code: "locked" });
    expect(await names(inner)).toEqual([file(1)]);
  });

  test("keep no lock that could not be looked at from themselves", async () => {
    const inner = memoryStore();
    let faults = 0;
    const store: Store = {
      ...inner,
      async lock(name) {
        const lock = await inner.lock?.(name);
        return {
          release: async () => lock?.release(),
          async check() {
            if (faults-- > 0) throw new TensorjarError("io", "too many files are open");
          },
        };
      },
    };
    const checkpoints = openCheckpoints(store);
    await checkpoints.save(stateAt(1));
    faults = 1;
    await expectError(() => checkpoints.save(stateAt(2)), { code: "io" });
    await checkpoints.save(stateAt(2));
    await checkpoints.close();
    await openCheckpoints(inner).save(stateAt(3));
    expect(await names(inner)).toEqual([file(1), file(2), file(3)]);
  });
});
