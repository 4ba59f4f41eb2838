import { Buffer } from "node:buffer";
import { unfilled } from "@tensorjar/core/codec";
import { afterEach, expect, test, vi } from "vitest";
import { expectError } from "../../../tooling/testing.js";

afterEach(() => {
  vi.restoreAllMocks();
});

test.each([0, 1, 65_535, 65_536, 1_000_003, 33_554_432, 33_554_433])(
  "memory of %i bytes is plain and nobody else's",
  (length) => {
    const made = unfilled(length);
    expect(Object.getPrototypeOf(made)).toBe(Uint8Array.prototype);
    expect([made.length, made.byteOffset, made.buffer.byteLength]).toEqual([length, 0, length]);
  },
);

test("where there is none uncleared, it is cleared, and where there is none at all, limit-exceeded", async () => {
  vi.spyOn(Buffer, "allocUnsafeSlow").mockImplementation(() => {
    throw new RangeError("Array buffer allocation failed");
  });
  expect(unfilled(100_000).every((byte) => byte === 0)).toBe(true);
  await expectError(() => unfilled(2 ** 53), { code: "limit-exceeded" });
});
