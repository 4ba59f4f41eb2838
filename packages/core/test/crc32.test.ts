import { crc32 } from "@tensorjar/core/codec";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { concat, unusualBuffers } from "../../../tooling/testing.js";
import { crc32 as portable } from "../src/crc32.js";
import { vectorCrc32 } from "../src/crc32-vector.js";

/** Bit by bit, as the polynomial says. */
function slow(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

describe.each([
  ["of this runtime", crc32],
  ["in plain JavaScript", portable],
  ["by vectors", vectorCrc32(portable)],
])("crc32 %s", (_, sum) => {
  test("gives the published check values", () => {
    const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);
    expect(sum(ascii(""))).toBe(0);
    expect(sum(ascii("a"))).toBe(0xe8b7be43);
    expect(sum(ascii("123456789"))).toBe(0xcbf43926);
    expect(sum(new Uint8Array(32))).toBe(0x190a55ad);
    expect(sum(new Uint8Array(32).fill(255))).toBe(0xff6cab0b);
  });

  test("equals the sum bit by bit, at every offset and length, whole and in pieces", () => {
    const cuts = fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(20));
    fc.assert(
      fc.property(cuts, ([bytes, cut, from]) => {
        const part = bytes.subarray(from);
        const expected = slow(part);
        expect(sum(part)).toBe(expected);
        expect(sum(part.subarray(cut), sum(part.subarray(0, cut)))).toBe(expected);
      }),
    );
  });

  test.each([0, 1, 32_767, 32_768, 32_769, 34_111, 34_175, 53_952, 53_953, 65_537, 200_001])(
    "equals the sum bit by bit of %i bytes of any memory, alone and after others",
    (length) => {
      const plain = new Uint8Array(length).map((_, i) => i * 7 + (i >> 8));
      const part = new Uint8Array(length + 8).subarray(3, 3 + length);
      const copies = [part, ...unusualBuffers(length).map((memory) => new Uint8Array(memory))];
      for (const copy of copies) copy.set(plain);
      const before = Uint8Array.of(1, 2, 3);
      for (const bytes of [plain, new Uint8Array(plain.buffer), ...copies]) {
        expect(sum(bytes)).toBe(slow(plain));
        expect(sum(bytes, sum(before))).toBe(slow(concat(before, plain)));
      }
    },
  );
});

test("crc32 by vectors is the plain one where WebAssembly is forbidden, and asks for it once", () => {
  const asked = vi.fn(() => {
    throw new Error("forbidden by the page");
  });
  vi.stubGlobal("WebAssembly", { Module: asked });
  try {
    const plain = vi.fn(portable);
    const sum = vectorCrc32(plain);
    const bytes = new Uint8Array(40_000).fill(7);
    expect(sum(bytes, 5)).toBe(portable(bytes, 5));
    expect(sum(bytes, 5)).toBe(portable(bytes, 5));
    expect(plain).toHaveBeenCalledTimes(2);
    expect(asked).toHaveBeenCalledTimes(1);
  } finally {
    vi.unstubAllGlobals();
  }
});
