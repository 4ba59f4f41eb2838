import { npzCheckpoint, safetensorsCheckpoint, type TrainingState } from "@tensorjar/checkpoint";
import { decodeNpz, encodeNpz } from "@tensorjar/npz";
import { decodeSafetensors, encodeSafetensors, tensor } from "@tensorjar/safetensors";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { parseJson } from "../src/parse-json.js";
import { gather } from "./support.js";

const state: TrainingState = { params: {}, optimizers: {}, step: 0 };

/** An archive whose configuration is `text`, whatever that is. */
async function npzWith(text: string): Promise<Uint8Array> {
  const entries = decodeNpz(await gather(npzCheckpoint.chunks(state)));
  entries.set("checkpoint_config_json", tensor(new TextEncoder().encode(text)));
  return encodeNpz(entries, { profile: "gsplat" });
}

/** A checkpoint without checksums whose metadata has `text` for `key`. */
async function safetensorsWith(key: string, text: string): Promise<Uint8Array> {
  const { tensors, metadata } = decodeSafetensors(
    await gather(safetensorsCheckpoint.chunks(state)),
  );
  return encodeSafetensors(tensors, { metadata: metadata.set(key, text) });
}

function faultOf(text: string): string {
  try {
    parseJson(text, "config");
    return "";
  } catch (error) {
    return String(error);
  }
}

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

describe("JSON in a checkpoint", () => {
  test("is refused with the place of its first fault, the same on every runtime", async () => {
    const faults: [text: string, position: number, expected: string][] = [
      ["", 0, "a value, found the end"],
      [" \t\r\n", 4, "a value, found the end"],
      ["\ufeff{}", 0, "a value, found a byte order mark"],
      ["{}\u00a0", 2, "nothing more"],
      ['{"k":"v"} x', 10, "nothing more"],
      ['{"a":}', 5, 'a value, found "}"'],
      ['{"a1":x}', 6, "a value"],
      ['{"abc": [1,2,x]}', 13, "a value"],
      ['{"steps":1000,"rate":oops}', 21, "a value"],
      ['{"lr":0.1,}', 10, "a string"],
      ["[1,]", 3, "a value"],
      ["[1 2]", 3, '"," or "]"'],
      ['{"a":1]', 6, '"," or "}"'],
      ['{"a":[1}', 7, '"," or "]"'],
      ['{"a" 1}', 5, '":"'],
      ["{a:1}", 1, "a string"],
      ["[", 1, "a value, found the end"],
      ["{", 1, "a string, found the end"],
      ['{"a":1', 6, '"," or "}", found the end'],
      ["nul", 3, "null, found the end"],
      ["nulx", 3, "null"],
      ["[tru]", 4, "true"],
      ["NaN", 0, "a value"],
      ["-Infinity", 1, "a digit"],
      ["-", 1, "a digit"],
      ["+1", 0, "a value"],
      ["01", 1, "nothing more"],
      ["1.", 2, "a digit"],
      [".5", 0, "a value"],
      ["1e", 2, "a digit"],
      ["1e+x", 3, "a digit"],
      ['"abc', 4, "the rest of a string"],
      ['"a\nb"', 2, "the rest of a string"],
      ['"\\x"', 2, "an escape"],
      ['"\\u12g4"', 5, "a hexadecimal digit"],
      ["'a'", 0, "a value"],
    ];
    for (const [text, position, expected] of faults) {
      const wanted = `expected ${expected}`;
      for (const load of [
        async () => npzCheckpoint.load(await npzWith(text)),
        async () =>
          safetensorsCheckpoint.load(await safetensorsWith("config", text), { verify: false }),
      ]) {
        const error = await expectError(load, { code: "invalid-checkpoint", names: ["config"] });
        expect(error.message, text).toContain(wanted);
        expect(error.message, text).toMatch(new RegExp(`at position ${position}$`, "m"));
      }
    }
  });

  test("is refused when, and only when, JSON.parse refuses it", async () => {
    const piece = fc.constantFrom(
      ...'[]{},:"\\ \n-+.eE0123utfnalsr'.split(""),
      "true",
      '"a":',
      "1.5",
      "\\u00e9",
    );
    const texts = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
      fc.tuple(fc.json(), fc.nat(), piece).map(([text, at, inserted]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + inserted + text.slice(place + (at % 2));
      }),
    );
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        let value: unknown;
        try {
          value = JSON.parse(text);
        } catch {
          refused++;
          const error = await expectError(() => parseJson(text, "config"), {
            code: "invalid-checkpoint",
          });
          // What stands before the place could still become JSON: only its end is at fault, if anything.
          const place = / at position \d+$/.exec(error.message)?.[0] ?? "";
          const before = text.slice(0, Number(/\d+/.exec(place)));
          expect(faultOf(before)).toMatch(new RegExp(`^$|found the end${place}$`));
          return;
        }
        expect(parseJson(text, "config")).toEqual(value);
      }),
      { numRuns: 500 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  test("is written again byte for byte, also numbers past the range of doubles", async () => {
    const text = '{"lr":1e999,"id":12345678901234567890, "x":[-1e999,-0,1.50]}';
    for (const [format, bytes] of [
      [npzCheckpoint, await npzWith(text)],
      [safetensorsCheckpoint, await safetensorsWith("config", text)],
    ] as const) {
      const loaded = await format.load(bytes, { verify: false });
      expect(loaded.config).toMatchObject({ lr: Number.POSITIVE_INFINITY });
      const again = await format.load(await gather(format.chunks(loaded)));
      expect(again.configText).toBe(text);
      const changed = { ...loaded, config: { lr: 1 } };
      expect((await format.load(await gather(format.chunks(changed)))).configText).toBe('{"lr":1}');
      await expectError(
        () => gather(format.chunks({ ...changed, config: { lr: Number.POSITIVE_INFINITY } })),
        {
          code: "invalid-argument",
          names: ["config\\.lr"],
        },
      );
    }
  });

  test("keeps the text only of a configuration that says the same", async () => {
    const loaded = await npzCheckpoint.load(await npzWith('{ "a": [1], "b": {} }'));
    const written = async (config: unknown): Promise<string> => {
      const changed = { ...loaded, config } as typeof loaded; // what a program without types may give
      return (await npzCheckpoint.load(await gather(npzCheckpoint.chunks(changed)))).configText;
    };
    expect(await written({ a: [1], b: {} })).toBe(loaded.configText);
    expect(await written({ b: {}, a: [1] })).toBe('{"b":{},"a":[1]}');
    expect(await written({ a: [1, 2], b: {} })).toBe('{"a":[1,2],"b":{}}');
    expect(await written({ a: { 0: 1 }, b: {} })).toBe('{"a":{"0":1},"b":{}}');
    expect(await written({ a: [1], b: [] })).toBe('{"a":[1],"b":[]}');
    expect(await written({ a: [1], b: null })).toBe('{"a":[1],"b":null}');
    for (const b of [new Date(0), new Map(), () => 1]) {
      await expectError(() => written({ a: [1], b }), {
        code: "invalid-argument",
        names: ["config\\.b"],
      });
    }
  });

  test("is read as deeply nested as it is written, and no deeper", async () => {
    for (const [format, make] of [
      [npzCheckpoint, npzWith],
      [safetensorsCheckpoint, (text: string) => safetensorsWith("config", text)],
    ] as const) {
      const loaded = await format.load(await make(nested(1000)), { verify: false });
      const again = await format.load(await gather(format.chunks(loaded)));
      expect(again.configText).toBe(nested(1000));
      for (const text of [nested(1001), `[[${nested(1000)},1]]`, nested(100_000)]) {
        await expectError(async () => format.load(await make(text), { verify: false }), {
          code: "limit-exceeded",
          names: ["config", "1000 levels", "position 1000$"],
        });
      }
      const open = "[".repeat(100_000);
      await expectError(async () => format.load(await make(open), { verify: false }), {
        code: "invalid-checkpoint",
        names: ["config", "found the end at position 100000"],
      });
    }
  });

  test("of settings of optimizers holds only numbers that can be written again", async () => {
    const text = '[{"name":"adam","steps":"by-path","hyperparameters":{"lr":1e999}}]';
    await expectError(
      async () =>
        safetensorsCheckpoint.load(await safetensorsWith("optimizers", text), { verify: false }),
      { code: "invalid-checkpoint", names: ["optimizers", `position ${text.indexOf("1e999")}$`] },
    );
  });
});
