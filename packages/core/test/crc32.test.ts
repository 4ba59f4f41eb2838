import { crc32 } from "@tensorjar/core/codec";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { crc32 as portable } from "../src/crc32.js";

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

  test("takes shared memory", () => {
    const shared = new Uint8Array(new SharedArrayBuffer(100));
    shared.fill(7);
    expect(sum(shared)).toBe(slow(shared));
  });
});
