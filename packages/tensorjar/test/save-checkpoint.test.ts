import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { npzCheckpoint, safetensorsCheckpoint, saveCheckpoint } from "../src/index.js";

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
