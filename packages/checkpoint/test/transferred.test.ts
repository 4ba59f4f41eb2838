import { type Bytes, tensor } from "@tensorjar/core";
import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { npzCheckpoint, safetensorsCheckpoint, takeSnapshot } from "../src/index.js";

/** Takes chunks, and the memory behind each, as `postMessage` with a list of transfers does. */
async function take(chunks: AsyncIterable<Bytes>): Promise<void> {
  for await (const { buffer } of chunks) structuredClone(buffer, { transfer: [buffer] });
}

test("a checkpoint whose memory is transferred chunk by chunk does not end early", async () => {
  const large = tensor(new Float32Array(5 << 20));
  const state = {
    params: { w: large },
    optimizers: { adam: { step: 1, exp_avg: { w: large }, exp_avg_sq: { w: large } } },
    step: 1,
  };
  for (const format of [safetensorsCheckpoint, npzCheckpoint]) {
    const file = format.chunks(takeSnapshot(state));
    await expectError(() => take("chunks" in file ? file.chunks : file), {
      code: "invalid-argument",
    });
  }
  expect(large.data.length).toBe(5 << 20); // the state was copied
});
