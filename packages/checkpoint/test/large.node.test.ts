import {
  memoryStore,
  openCheckpoints,
  type Store,
  safetensorsCheckpoint,
  tensor,
  verifyCheckpoint,
} from "@tensorjar/checkpoint";
import { parseSafetensorsHeader } from "@tensorjar/safetensors";
import { expect, test } from "vitest";
import { gather } from "./support.js";

test("10,000 parameters with Adam are saved, verified and restored, in a header that leaves room for ten times as many", {
  timeout: 120_000,
}, async () => {
  const slot = (value: number) =>
    Object.fromEntries(
      Array.from({ length: 10_000 }, (_, i) => [
        `model.layers.${i}.self_attn.q_proj.weight`,
        tensor(Float32Array.of(value + i)),
      ]),
    );
  const state = (value: number, step: number) => ({
    params: slot(value),
    optimizers: { adam: { step, exp_avg: slot(value + 0.25), exp_avg_sq: slot(value + 0.5) } },
    step,
  });
  const bytes = await gather(safetensorsCheckpoint.chunks(state(1, 7)));
  expect(parseSafetensorsHeader(bytes).dataOffset).toBeLessThan(10_000_000);
  expect((await verifyCheckpoint(bytes)).params.size).toBe(10_000);
  const store = memoryStore();
  await store.put("step-000000000007.safetensors", [bytes]);
  const live = state(0, 0);
  expect((await openCheckpoints(store).restore(live))?.step).toBe(7);
  expect(live.step).toBe(7);
  for (const i of [0, 1, 9999]) {
    const name = `model.layers.${i}.self_attn.q_proj.weight`;
    expect(live.params[name]?.data).toEqual(Float32Array.of(1 + i));
    expect(live.optimizers.adam.exp_avg_sq[name]?.data).toEqual(Float32Array.of(1.5 + i));
  }
});

// Bun tells what its buffers take only at the next collection, Deno never.
test.skipIf("Bun" in globalThis || "Deno" in globalThis)(
  "saving takes one buffer of the state's size, again and again, and little else",
  async () => {
    const held = () => process.memoryUsage().arrayBuffers / (1 << 20);
    const params = Array.from({ length: 96 }, (_, i) => tensor(new Uint8Array(1 << 20).fill(i)));
    let peak = 0;
    const store: Store = {
      ...memoryStore(),
      async put(_, chunks) {
        for await (const chunk of chunks) peak = Math.max(peak, held() - chunk.length / (1 << 20));
        return {};
      },
    };
    const checkpoints = openCheckpoints(store);
    const before = held();
    for (const step of [1, 2, 3, 4, 5]) {
      const saving = checkpoints.save({ params, optimizers: {}, step });
      peak = Math.max(peak, held());
      await saving;
    }
    expect(peak - before).toBeGreaterThan(90);
    expect(peak - before).toBeLessThan(96 + 64);
  },
);
