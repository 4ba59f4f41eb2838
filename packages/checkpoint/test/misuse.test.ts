import {
  keepAny,
  keepBest,
  type LeafAdapter,
  memoryStore,
  npzCheckpoint,
  openCheckpoints,
  takeSnapshot,
} from "@tensorjar/checkpoint";
import { expect, test } from "vitest";
import { expectError, random } from "../../../tooling/testing.js";
import { adamState, gather } from "./support.js";

const state = () => adamState(random(1), 1);

test("what is no store, format, policy or list of adapters is refused where it is given", async () => {
  for (const store of [undefined, null, 5, {}, [], () => {}, new URL("https://a.b")]) {
    await expectError(() => openCheckpoints(store as never), {
      code: "invalid-argument",
      names: ["store"],
    });
  }
  for (const options of [
    { format: "npz" },
    { format: {} },
    { adapters: 5 },
    { keep: 5 },
    { onBusy: "later" },
  ]) {
    await expectError(() => openCheckpoints(memoryStore(), options as never), {
      code: "invalid-argument",
      names: Object.keys(options),
    });
  }
  await expectError(() => keepAny(5 as never), { code: "invalid-argument", names: ["5"] });
  await expectError(() => keepBest(1, 5 as never, "min"), { code: "invalid-argument" });
});

test("adapters that read no tensor are refused by the path of the leaf, saved or taken", async () => {
  class Device {}
  for (const read of [undefined, null, 5, "w", {}]) {
    const adapter: LeafAdapter = {
      is: (x) => x instanceof Device,
      shape: () => [1],
      dtype: () => "float32",
      read: () => read as never, // what a program without types may give
      write: () => ({ undo: () => {} }),
    };
    const device = { params: { w: new Device() }, optimizers: {}, step: 1 };
    const wrong = { code: "invalid-argument", names: ["params\\.w"] } as const;
    await expectError(() => takeSnapshot(device, { adapters: [adapter] }), wrong);
    const checkpoints = openCheckpoints(memoryStore(), { adapters: [adapter] });
    await expectError(() => checkpoints.save(device), wrong);
    await checkpoints.close();
  }
});

test("a policy that gives no Set fails by name, and deletes nothing", async () => {
  const checkpoints = openCheckpoints(memoryStore(), {
    keep: ((history: readonly unknown[]) => history) as never,
  });
  await checkpoints.save({ ...state(), step: 1 });
  await checkpoints.save({ ...state(), step: 2 });
  await expectError(() => checkpoints.flush(), { code: "invalid-argument", names: ["keep"] });
  expect((await checkpoints.list()).map(({ step }) => step)).toEqual([1, 2]);
  await checkpoints.close();
});

test("a snapshot whose configuration has no text is refused", async () => {
  const snapshot = takeSnapshot(state());
  for (const configText of [undefined, null, 5, {}, "{", "[".repeat(5000) + "]".repeat(5000)]) {
    await expectError(() => gather(npzCheckpoint.chunks({ ...snapshot, configText } as never)), {
      code: "invalid-argument",
      names: ["configText"],
    });
  }
});

test("names that cannot be asked, or answer with no string, are refused", async () => {
  const snapshot = takeSnapshot(state());
  for (const names of [{}, 5, { toFile: () => 5, toTree: (name: string) => name }]) {
    await expectError(() => gather(npzCheckpoint.chunks(snapshot, { names: names as never })), {
      code: ["invalid-argument", "invalid-name"],
    });
  }
});

test("what would be lost because it is no plain object is refused: Maps of optimizers, steps and metrics", async () => {
  const { adam } = state().optimizers;
  for (const [path, given] of [
    ["optimizers", { optimizers: new Map([["adam", adam]]) }],
    ["optimizers", { optimizers: [adam] }],
    ["optimizers.adam.step", { optimizers: { adam: { ...adam, step: new Map([["a", 1]]) } } }],
    ["metrics", { metrics: new Map([["loss", 1]]) }],
  ] as const) {
    await expectError(() => takeSnapshot({ ...state(), ...given } as never), {
      code: "invalid-argument",
      names: [path, "Map|Array"],
    });
  }
});
