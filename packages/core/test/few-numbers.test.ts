import { toFloat32 } from "@tensorjar/core";
import { expect, test } from "vitest";
import { everyCode, firstDifference } from "./small-floats.js";

// A file of its own, since conversions of many numbers leave a table behind that those of a few use too.
test("a few float16 numbers are the same as among many", () => {
  const { data } = everyCode("float16");
  const few: Float32Array[] = [];
  for (let at = 0; at < data.length; at += 4095) {
    const part = data.subarray(at, at + 4095);
    few.push(toFloat32({ dtype: "float16", shape: [part.length], data: part }));
  }
  const many = toFloat32(everyCode("float16"));
  let at = 0;
  for (const part of few) {
    expect(firstDifference(part, many.subarray(at, at + part.length))).toBe(-1);
    at += part.length;
  }
  expect(at).toBe(65536);
});
