import { safetensorsCheckpoint, tensor, verifyCheckpoint } from "@tensorjar/checkpoint";
import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { content, gather } from "./support.js";

const state = {
  params: { w: tensor(Float32Array.of(1, 2, 3)), b: tensor(new Float32Array(0), [0, 3]) },
  optimizers: { adam: { step: 3, exp_avg: { w: tensor(Float32Array.of(4, 5, 6)) } } },
  step: 3,
  config: { lr: 0.1 },
};

test("every flipped bit of a checkpoint is detected or harmless", { timeout: 60_000 }, async () => {
  const bytes = await gather(safetensorsCheckpoint.chunks(state));
  const whole = content(await safetensorsCheckpoint.load(bytes));
  let harmless = 0;
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const damaged = bytes.slice();
    damaged[bit >> 3]! ^= 1 << (bit & 7); // within the array
    try {
      expect(content(await safetensorsCheckpoint.load(damaged))).toEqual(whole);
      await verifyCheckpoint(damaged);
      harmless++;
    } catch (error) {
      await expectError(() => Promise.reject(error));
    }
  }
  // The padding of the header is spaces; a flip that leaves other JSON whitespace is harmless.
  expect(harmless).toBeLessThan(16);
});

test("a checkpoint cut at any length is truncated", { timeout: 60_000 }, async () => {
  const bytes = await gather(safetensorsCheckpoint.chunks(state));
  for (let length = 0; length < bytes.length; length++) {
    await expectError(() => safetensorsCheckpoint.load(bytes.subarray(0, length)), {
      code: "truncated",
    });
  }
  await expectError(() => safetensorsCheckpoint.load(Uint8Array.of(...bytes, 0)), {
    code: "trailing-bytes",
  });
});
