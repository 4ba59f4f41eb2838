import { checkTensor } from "@tensorjar/core/codec";
import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import {
  cast,
  encodeNpy,
  encodeNpz,
  encodeSafetensors,
  npyChunks,
  npzChunks,
  parameter,
  safetensorsChunks,
  type Tensor,
  toFloat64,
} from "../src/index.js";

const data = Float32Array.from({ length: 6 }, (_, i) => i);

/** A view as `ndarray` has it, or one with `strides`, on the same memory. */
function view(shape: number[], stride: number[], offset = 0, key = "stride"): Tensor<"float32"> {
  return Object.assign({ dtype: "float32" as const, shape, data }, { [key]: stride, offset });
}

describe("a view of another library", () => {
  const uses: [string, (w: Tensor<"float32">) => unknown][] = [
    ["encodeSafetensors", (w) => encodeSafetensors({ w })],
    ["safetensorsChunks", (w) => safetensorsChunks({ w })],
    ["encodeNpy", (w) => encodeNpy(w)],
    ["npyChunks", (w) => npyChunks(w)],
    ["encodeNpz", (w) => encodeNpz({ w })],
    ["npzChunks", (w) => npzChunks({ w })],
    ["toFloat64", (w) => toFloat64(w)],
    ["cast", (w) => cast(w, "float64")],
    ["parameter", (w) => parameter(w)],
  ];
  for (const [name, use] of uses) {
    test(`whose numbers are not in C order is refused by ${name}, not read in the wrong order`, async () => {
      const misuse = { code: "invalid-argument", names: ["C order"] } as const;
      await expectError(() => use(view([3, 2], [1, 3])), misuse);
      await expectError(() => use(view([3, 2], [1, 3], 0, "strides")), misuse);
      await expectError(() => use(view([6], [-1], 5)), misuse);
      use(view([3, 2], [2, 1]));
    });
  }

  test("is in C order whatever the strides of axes of length 1, and where it is empty", () => {
    expect(checkTensor(view([1, 6], [99, 1]))).toBe(24);
    expect(checkTensor(view([2, 1, 3], [3, 7, 1], 0, "strides"))).toBe(24);
    const empty = { dtype: "float32", shape: [3, 0], data: data.subarray(0, 0), stride: [0, 1] };
    expect(checkTensor(empty)).toBe(0);
    expect(checkTensor({ ...view([6], []), stride: 4 })).toBe(24);
  });
});
