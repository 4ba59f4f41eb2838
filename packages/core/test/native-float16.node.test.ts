import { cast, tensor } from "@tensorjar/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { firstDifference } from "./small-floats.js";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** Numbers of every size, both signs, NaNs among them; and their codes, a few at a time and so without the engine. */
const numbers = new Float32Array(
  Int32Array.from({ length: 20_001 }, (_, i) => Math.imul(i, 0x9e3779b1)).buffer,
);
function codesOf(given: Float32Array): Uint16Array {
  const codes = new Uint16Array(given.length);
  for (let at = 0; at < given.length; at += 4000) {
    codes.set(cast(tensor(given.subarray(at, at + 4000)), "float16").data, at);
  }
  return codes;
}

/** A stand-in for the engine's Float16Array; `change` is what it does wrong. */
function standIn(change: (codes: Uint16Array) => void) {
  const used = { times: 0 };
  const Halves = class {
    readonly #codes: Uint16Array;
    constructor(buffer: ArrayBuffer, offset: number, length: number) {
      this.#codes = new Uint16Array(buffer, offset, length);
    }
    set(from: Float32Array): void {
      used.times++;
      const codes = codesOf(from);
      change(codes);
      this.#codes.set(codes);
    }
  };
  return { Halves, used };
}

async function castAnew(): Promise<Uint16Array> {
  vi.resetModules();
  const core = await import("@tensorjar/core");
  return core.cast(core.tensor(numbers), "float16").data;
}

describe("many numbers become float16", () => {
  test("by the engine where it rounds as we do and keeps the signs of NaNs", async () => {
    const { Halves, used } = standIn(() => {});
    vi.stubGlobal("Float16Array", Halves);
    expect(firstDifference(await castAnew(), codesOf(numbers))).toBe(-1);
    expect(used.times).toBeGreaterThan(1);
  });

  test.each<[string, (codes: Uint16Array) => void]>([
    [
      "drops the sign of a NaN",
      (codes) => {
        for (let i = 0; i < codes.length; i++) if (codes[i] === 0xfe00) codes[i] = 0x7e00;
      },
    ],
    [
      "rounds one number in its own way",
      (codes) => {
        const at = codes.indexOf(0x3c01);
        if (at >= 0) codes[at] = 0x3c02;
      },
    ],
    [
      "throws",
      () => {
        throw new TypeError("not here");
      },
    ],
  ])("without an engine that %s", async (_, change) => {
    const { Halves, used } = standIn(change);
    vi.stubGlobal("Float16Array", Halves);
    expect(firstDifference(await castAnew(), codesOf(numbers))).toBe(-1);
    expect(used.times).toBe(1);
  });

  test("where the engine has no Float16Array", async () => {
    vi.stubGlobal("Float16Array", undefined);
    expect(firstDifference(await castAnew(), codesOf(numbers))).toBe(-1);
  });
});
