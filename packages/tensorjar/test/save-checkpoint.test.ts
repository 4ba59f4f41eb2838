import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import {
  type CheckpointFormat,
  type LeafAdapter,
  loadCheckpoint,
  memoryStore,
  npzCheckpoint,
  openCheckpoints,
  safetensorsCheckpoint,
  saveCheckpoint,
  tensor,
} from "../src/index.js";

test.each([
  ["npz", npzCheckpoint],
  ["safetensors", safetensorsCheckpoint],
  ["the default", undefined],
])("what is no training state is refused for %s, and nothing is written", async (_, format) => {
  let written = 0;
  for (const state of [undefined, null, "abc", 5, [], () => {}]) {
    const sink = { write: () => written++, close: () => written++ };
    const options = format === undefined ? {} : { format };
    await expectError(() => Reflect.apply(saveCheckpoint, undefined, [sink, state, options]), {
      code: "invalid-argument",
    });
    expect(written).toBe(0);
  }
});

test("what is no format is refused", async () => {
  const state = { params: {}, optimizers: {}, step: 0 };
  for (const format of ["npz", 5, {}, null]) {
    await expectError(
      () =>
        Reflect.apply(saveCheckpoint, undefined, [
          { write: () => {}, close: () => {} },
          state,
          { format },
        ]),
      { code: "invalid-argument", names: ["format"] },
    );
  }
});

test.each([
  ["npz", npzCheckpoint],
  ["the default", undefined],
])(
  "an adapter that reads asynchronously is refused for %s, naming what awaits it",
  async (_, format) => {
    const adapter: LeafAdapter<Date> = {
      is: (x): x is Date => x instanceof Date,
      shape: () => [1],
      dtype: () => "float32",
      read: () => Promise.resolve(tensor(Float32Array.of(1))),
      write: () => ({ undo: () => {} }),
    };
    const state = { params: { w: new Date(0) }, optimizers: {}, step: 1 };
    let touched = 0;
    const sink = { write: () => touched++, close: () => touched++ };
    const options = { adapters: [adapter], ...(format && { format }) };
    await expectError(() => saveCheckpoint(sink, state, options), {
      code: "invalid-argument",
      names: ["params.w", "openCheckpoints"],
    });
    expect(touched).toBe(0);
    const checkpoints = openCheckpoints(memoryStore(), { adapters: [adapter] });
    expect((await checkpoints.save(state)).step).toBe(1);
    await checkpoints.close();
  },
);

test("a format may be an instance of a class", async () => {
  class Format implements CheckpointFormat {
    readonly #inner = safetensorsCheckpoint;
    readonly extension = ".custom";
    chunks(...args: Parameters<CheckpointFormat["chunks"]>) {
      return this.#inner.chunks(...args);
    }
    load(...args: Parameters<CheckpointFormat["load"]>) {
      return this.#inner.load(...args);
    }
    inspect(...args: Parameters<CheckpointFormat["inspect"]>) {
      return this.#inner.inspect(...args);
    }
  }
  const store = memoryStore();
  const state = { params: {}, optimizers: {}, step: 7 };
  await saveCheckpoint({ store, name: "x.custom" }, state, { format: new Format() });
  expect((await loadCheckpoint(store.open("x.custom"))).step).toBe(7);
  const checkpoints = openCheckpoints(store, { format: new Format() });
  await checkpoints.save(state);
  expect((await checkpoints.verify()).step).toBe(7);
  expect((await checkpoints.load())?.snapshot.step).toBe(7);
  await checkpoints.close();
});
