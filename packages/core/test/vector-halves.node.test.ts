import { afterEach, describe, expect, test, vi } from "vitest";
import { firstDifference } from "./small-floats.js";

afterEach(() => vi.unstubAllGlobals());

/** The engine's own, which tells how often it was asked. */
const counted = {
  made: 0,
  Module: WebAssembly.Module,
  Instance: class extends WebAssembly.Instance {
    constructor(module: WebAssembly.Module) {
      super(module);
      counted.made++;
    }
  },
};

type Core = typeof import("@tensorjar/core");

/** The package anew, which has converted nothing yet. */
async function coreAnew(): Promise<Core> {
  vi.resetModules();
  return import("@tensorjar/core");
}

/** Numbers of every size, both signs, NaNs among them, and those around each that lies halfway between two codes. */
const random = 1 << 19;
const numbers = new Float32Array(
  Int32Array.from({ length: random + (3 << 20) }, (_, i) => {
    const place = i - random;
    return place < 0 ? Math.imul(i, 0x9e3779b1) : (Math.floor(place / 3) << 12) + ((place % 3) - 1);
  }).buffer,
);
const codes = Uint16Array.from({ length: 65536 }, (_, code) => code);

type Half = "float16" | "bfloat16";
const encode = ({ cast, tensor }: Core, given: Float32Array, dtype: Half) =>
  cast(tensor(given), dtype).data;
const decode = ({ toFloat32 }: Core, data: Uint16Array, dtype: Half) =>
  toFloat32({ dtype, shape: [data.length], data });

/** Bit patterns of numbers, which a copy as numbers might change. */
function bits(array: Float32Array): Uint32Array {
  return new Uint32Array(array.buffer, array.byteOffset, array.length);
}

describe.each<Half>(["float16", "bfloat16"])(
  "many numbers of %s are converted as few are",
  (dtype) => {
    const few = { codes: new Uint16Array(numbers.length), bits: new Uint32Array(codes.length) };

    test("that is, one by one", async () => {
      const core = await coreAnew();
      for (let at = 0; at < numbers.length; at += 4095)
        few.codes.set(encode(core, numbers.subarray(at, at + 4095), dtype), at);
      for (let at = 0; at < codes.length; at += 4095)
        few.bits.set(bits(decode(core, codes.subarray(at, at + 4095), dtype)), at);
      expect(new Set(few.codes).size).toBeGreaterThan(60_000);
      expect(new Set(few.bits).size).toBeGreaterThan(60_000);
    });

    test.each<[string, unknown]>([
      ["by vector instructions", counted],
      ["where there is no WebAssembly", undefined],
      [
        "where a page forbids it",
        {
          Module: class {
            constructor() {
              throw new Error("Refused to compile or instantiate WebAssembly module");
            }
          },
        },
      ],
    ])("%s", async (_, engine) => {
      vi.stubGlobal("WebAssembly", engine);
      counted.made = 0;
      const core = await coreAnew();
      expect(firstDifference(encode(core, numbers, dtype), few.codes)).toBe(-1);
      expect(firstDifference(bits(decode(core, codes, dtype)), few.bits)).toBe(-1);
      expect(counted.made).toBe(engine === counted ? 1 : 0);
      // Then few, too, of every length and from every place in a vector; and about a block of a call.
      for (let length = 0; length < 40; length++) {
        const part = codes.subarray(1000 + length, 1000 + 2 * length);
        const from = few.bits.subarray(1000 + length, 1000 + 2 * length);
        expect(firstDifference(bits(decode(core, part, dtype)), from)).toBe(-1);
        const given = numbers.subarray(length, 2 * length);
        expect(
          firstDifference(encode(core, given, dtype), few.codes.subarray(length, 2 * length)),
        ).toBe(-1);
      }
      for (const length of [4095, 4096, 4097, 8191, 8199]) {
        const part = codes.subarray(length, 2 * length);
        expect(
          firstDifference(bits(decode(core, part, dtype)), few.bits.subarray(length, 2 * length)),
        ).toBe(-1);
      }
    });
  },
);
