import fc from "fast-check";
import { expect, test } from "vitest";
import { swapBytes as native } from "#swap";
import { swapBytes as portable } from "../src/swap.js";

test("Node's way of turning the byte order gives what the portable one gives", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 600 }),
      fc.constantFrom(2, 4, 8),
      fc.nat({ max: 7 }),
      (bytes, unit, start) => {
        const whole = (view: Uint8Array): Uint8Array =>
          view.subarray(0, view.length - (view.length % unit));
        const one = whole(bytes.slice().subarray(start));
        const other = whole(bytes.slice().subarray(start));
        native(one, unit);
        portable(other, unit);
        expect(one).toEqual(other);
      },
    ),
  );
  expect(native).not.toBe(portable);
});
