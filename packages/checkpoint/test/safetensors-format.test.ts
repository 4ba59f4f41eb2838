import {
  bytesSource,
  inspectCheckpoint,
  type Snapshot,
  safetensorsCheckpoint,
  type Tensor,
  type TrainingState,
  takeSnapshot,
  tensor,
  verifyCheckpoint,
} from "@tensorjar/checkpoint";
import { crc32 } from "@tensorjar/core/codec";
import { decodeSafetensors, encodeSafetensors } from "@tensorjar/safetensors";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesOf, expectError, random } from "../../../tooling/testing.js";
import { adamState, content, gather } from "./support.js";

const encode = (state: TrainingState | Snapshot) => gather(safetensorsCheckpoint.chunks(state));
const load = (bytes: Uint8Array, options?: { verify?: boolean }) =>
  safetensorsCheckpoint.load(bytes, options);

describe("a checkpoint as a safetensors file", () => {
  test("comes back as it was saved", async () => {
    const state = { ...adamState(random(1)), metrics: { loss: 0.25, worst: Number.NaN } };
    const taken = takeSnapshot(state);
    const loaded = await load(await encode(state));
    expect(content(loaded)).toEqual(content(taken));
    expect(loaded.version).toBe(1);
    expect(loaded.config).toEqual({ lr: 0.01, name: "tiny" });
    expect(loaded.configText).toBe('{"lr":0.01,"name":"tiny"}');
  });

  test("names tensors by what they are, and holds the head in its metadata", async () => {
    const state: TrainingState = {
      params: { w: tensor(new Float32Array(2)), "a/b": tensor(new Float32Array(1)) },
      optimizers: {
        adam: {
          step: 3,
          hyperparameters: { lr: 0.1, betas: [0.9, 0.999] },
          exp_avg: { w: tensor(new Float32Array(2)), "a/b": tensor(new Float32Array(1)) },
        },
        rows: { step: { w: 4, "a/b": 5 }, factor: { w: tensor(new Float32Array(7)) } },
        sgd: { step: 9 },
      },
      step: 9,
      extra: { rng: tensor(new Uint32Array(4)) },
      metrics: { loss: 0.5 },
    };
    const { tensors, metadata } = decodeSafetensors(await encode(state));
    expect([...tensors.keys()].sort()).toEqual([
      "extra/rng",
      "optimizer/adam/a/b/exp_avg",
      "optimizer/adam/step",
      "optimizer/adam/w/exp_avg",
      "optimizer/rows/a/b/step",
      "optimizer/rows/w/factor",
      "optimizer/rows/w/step",
      "optimizer/sgd/step",
      "param/a/b",
      "param/w",
    ]);
    expect(tensors.get("optimizer/adam/step")).toEqual(tensor(3, [], "int64"));
    const { crc32: sums, ...head } = Object.fromEntries(metadata);
    expect(head).toEqual({
      format: "tensorjar-checkpoint",
      version: "1",
      step: "9",
      config: "{}",
      metrics: '{"loss":0.5}',
      optimizers:
        '[{"name":"adam","hyperparameters":{"lr":0.1,"betas":[0.9,0.999]}},' +
        '{"name":"rows","steps":"by-path"},{"name":"sgd"}]',
    });
    expect(sums).toMatch(/^[0-9a-f]{88}$/);
  });

  test("states the CRC-32 of the head and of each tensor in the order of UTF-8", async () => {
    const state: TrainingState = {
      params: { "\u{1f600}": tensor(Uint8Array.of(1)), "\uff5e": tensor(Uint8Array.of(2, 3)) },
      optimizers: {},
      step: 0,
    };
    const { metadata } = decodeSafetensors(await encode(state));
    const head =
      '[["config","{}"],["format","tensorjar-checkpoint"],["optimizers","[]"],["step","0"],["version","1"]]' +
      '[["param/\uff5e","uint8",[2]],["param/\u{1f600}","uint8",[1]]]';
    const hex = (bytes: Uint8Array) => crc32(bytes).toString(16).padStart(8, "0");
    expect(metadata.get("crc32")).toBe(
      hex(new TextEncoder().encode(head)) + hex(Uint8Array.of(2, 3)) + hex(Uint8Array.of(1)),
    );
  });

  test("gives the same bytes again when what was loaded is saved", async () => {
    const text = '{ "b" : 1e0,\n"a": "\\u00fc" }';
    const bytes = await encode({
      ...takeSnapshot(adamState(random(2))),
      configText: text,
      config: { b: 1, a: "ü" },
    });
    const loaded = await load(bytes);
    expect(loaded.configText).toBe(text);
    expect(await encode(loaded)).toEqual(bytes);
  });

  test("writes the configuration of a snapshot that was given another one", async () => {
    const snapshot = { ...takeSnapshot(adamState(random(3))), config: { lr: 0.5 } };
    expect((await load(await encode(snapshot))).config).toEqual({ lr: 0.5 });
  });

  test("is as long as it says, and copies the state before it returns", async () => {
    const state = adamState(random(4));
    const before = content(takeSnapshot(state));
    const file = safetensorsCheckpoint.chunks(state);
    state.params.layers[0]?.weight.data.fill(99);
    state.step = 13;
    const bytes = await gather(file);
    expect("byteLength" in file && file.byteLength).toBe(bytes.length);
    expect(content(await load(bytes))).toEqual(before);
  });

  test("keeps steps by parameter as they are, and one for all where they agree", async () => {
    const slot = { a: tensor(new Float32Array(1)), b: tensor(new Float32Array(1)) };
    const names = async (step: TrainingState["optimizers"][string]["step"]) => {
      const bytes = await encode({ params: slot, optimizers: { o: { step, m: slot } }, step: 1 });
      const loaded = (await load(bytes)).optimizers.get("o")?.step;
      return [
        [...decodeSafetensors(bytes).tensors.keys()]
          .filter((name) => name.endsWith("/step"))
          .sort(),
        typeof loaded === "object" ? Object.fromEntries(loaded) : loaded,
      ];
    };
    expect(await names(7)).toEqual([["optimizer/o/step"], 7]);
    expect(await names({ a: 7, b: 7 })).toEqual([["optimizer/o/step"], { a: 7, b: 7 }]);
    expect(await names({ a: 7, b: 8 })).toEqual([
      ["optimizer/o/a/step", "optimizer/o/b/step"],
      { a: 7, b: 8 },
    ]);
    expect(await names({ a: 7 })).toEqual([["optimizer/o/a/step"], { a: 7 }]);
    expect(await names({})).toEqual([[], {}]);
  });

  test("holds every name and value that it can be given", async () => {
    const name = fc.string({ unit: "grapheme", minLength: 1 }).filter((n) => !n.includes("/"));
    const path = fc.string({ unit: "grapheme", minLength: 1 });
    const array = fc.uint8Array({ maxLength: 5 }).map((data): Tensor => tensor(data));
    const tree = fc.dictionary(path, array, { maxKeys: 3, noNullPrototype: true });
    const slots = fc.dictionary(
      name.filter((n) => n !== "step" && n !== "hyperparameters"),
      tree,
      { maxKeys: 2, noNullPrototype: true },
    );
    const step = fc.maxSafeNat();
    const optimizer = fc.record({ step, hyperparameters: fc.jsonValue(), slots });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          params: tree,
          optimizers: fc.dictionary(name, optimizer, { maxKeys: 2, noNullPrototype: true }),
          step,
          config: fc.jsonValue(),
          metrics: fc.dictionary(fc.string(), fc.double(), { maxKeys: 3, noNullPrototype: true }),
          extra: tree,
        }),
        async ({ optimizers, ...rest }) => {
          const state: TrainingState = {
            ...rest,
            optimizers: Object.fromEntries(
              Object.entries(optimizers).map(([key, { slots, ...optimizer }]) => [
                key,
                { ...optimizer, ...slots },
              ]),
            ),
          };
          const taken = takeSnapshot(state);
          const loaded = await load(await encode(state));
          expect(loaded.config).toEqual(state.config);
          expect(loaded.metrics).toEqual(taken.metrics);
          expect(loaded.step).toBe(state.step);
          expect(Object.fromEntries(loaded.params)).toEqual(rest.params);
          expect(Object.fromEntries(loaded.extra)).toEqual(rest.extra);
          for (const [key, optimizer] of Object.entries(optimizers)) {
            const found = loaded.optimizers.get(key);
            expect(found?.hyperparameters).toEqual(optimizer.hyperparameters);
            expect(found?.step).toBe(optimizer.step);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("refuses names that its tensors cannot have", async () => {
    const slot = { w: tensor(new Float32Array(1)) };
    for (const optimizers of [
      { "a/b": { step: 1 } },
      { "": { step: 1 } },
      { adam: { step: 1, "exp/avg": slot } },
      { adam: { step: 1, "": slot } },
    ]) {
      await expectError(() => encode({ params: {}, optimizers, step: 1 }), {
        code: "invalid-name",
      });
    }
    const snapshot = takeSnapshot({ params: {}, optimizers: {}, step: 1 });
    const optimizers = new Map([
      ["adam", { step: 1, slots: new Map([["step", new Map(Object.entries(slot))]]) }],
    ]);
    await expectError(() => encode({ ...snapshot, optimizers }), {
      code: "invalid-name",
      names: ["step"],
    });
  });

  test("refuses a newer version, naming both", async () => {
    const { tensors, metadata } = decodeSafetensors(await encode(adamState(random(5))));
    const bytes = encodeSafetensors(tensors, { metadata: metadata.set("version", "2") });
    await expectError(() => load(bytes), {
      code: "unsupported-version",
      names: ["version 2", "\\b1\\b"],
    });
    for (const version of [String(2n ** 64n), "9".repeat(400)]) {
      const later = encodeSafetensors(tensors, { metadata: metadata.set("version", version) });
      const error = await expectError(() => load(later), {
        code: "unsupported-version",
        names: ["version (18446744073709552000|Infinity)", "\\b1\\b"],
      });
      expect(error.details.actual).toBe(Number(version));
    }
    for (const version of ["0", "-1", "02", "2.0", "2e0", " 2", ""]) {
      const wrong = encodeSafetensors(tensors, { metadata: metadata.set("version", version) });
      await expectError(() => load(wrong), { code: "invalid-checkpoint", names: ["version"] });
    }
  });

  test("refuses safetensors files that are no checkpoint, and other files", async () => {
    const model = encodeSafetensors({ w: tensor(new Float32Array(2)) });
    await expectError(() => load(model), {
      code: "invalid-checkpoint",
      names: ["no tensorjar checkpoint"],
    });
    await expectError(() => load(new TextEncoder().encode("<!doctype html><p>404")), {
      code: "not-this-format",
    });
    await expectError(() => load(new Uint8Array()), { code: "truncated" });
  });

  test("refuses tensors, optimizers and metadata that do not fit together, listing all", async () => {
    const bytes = await encode(adamState(random(6)));
    const edited = (
      edit: (tensors: Map<string, Tensor>, metadata: Map<string, string>) => void,
    ) => {
      const { tensors, metadata } = decodeSafetensors(bytes);
      edit(tensors, metadata);
      return () => load(encodeSafetensors(tensors, { metadata }), { verify: false });
    };
    const one = () => tensor(3, [], "int64");
    await expectError(
      edited((tensors) =>
        tensors.set("weights/w", one()).set("optimizer/b/step", one()).set("optimizer/adam", one()),
      ),
      {
        code: "invalid-checkpoint",
        names: ['"weights/w"', '"optimizer/b/step"', '"optimizer/adam"'],
      },
    );
    const cases: [name: string, edit: Parameters<typeof edited>[0]][] = [
      ["has no step", (tensors) => tensors.delete("optimizer/adam/step")],
      ["int64 scalar", (tensors) => tensors.set("optimizer/adam/step", tensor(3, [], "int32"))],
      ["-3", (tensors) => tensors.set("optimizer/adam/step", tensor(-3, [], "int64"))],
      [
        "9007199254740993",
        (tensors) => tensors.set("optimizer/adam/step", tensor(2n ** 53n + 1n, [], "int64")),
      ],
      ["beside one", (tensors) => tensors.set("optimizer/adam/layers/step", one())],
      ["config.*not JSON", (_, metadata) => metadata.set("config", "{")],
      ['no "config"', (_, metadata) => metadata.delete("config")],
      ['step is "1e3"', (_, metadata) => metadata.set("step", "1e3")],
      ['step is "-1"', (_, metadata) => metadata.set("step", "-1")],
      ['version is "one"', (_, metadata) => metadata.set("version", "one")],
      ["version 0", (_, metadata) => metadata.set("version", "0")],
      ["optimizers are not", (_, metadata) => metadata.set("optimizers", '{"adam":{}}')],
      ["optimizers are not", (_, metadata) => metadata.set("optimizers", '[{"name":3}]')],
      ...["", "a/b"].map((name): (typeof cases)[number] => [
        "optimizers are not",
        (_, metadata) =>
          metadata.set(
            "optimizers",
            JSON.stringify([{ name: "adam" }, { name, steps: "by-path" }]),
          ),
      ]),
      ["twice", (_, metadata) => metadata.set("optimizers", '[{"name":"adam"},{"name":"adam"}]')],
      ["not listed", (_, metadata) => metadata.set("optimizers", "[]")],
      ["metric", (_, metadata) => metadata.set("metrics", '{"loss":"low"}')],
    ];
    for (const [name, edit] of cases) {
      await expectError(edited(edit), { code: "invalid-checkpoint", names: [name] });
    }
  });

  test("verifies unless told not to", async () => {
    const { tensors, metadata } = decodeSafetensors(await encode(adamState(random(7))));
    const name = "param/layers.0.bias";
    const bias = tensors.get(name);
    if (bias === undefined) throw new Error("the checkpoint has no bias");
    bytesOf(bias.data)[3]! ^= 1; // it has eight bytes
    const damaged = encodeSafetensors(tensors, { metadata });
    await expectError(() => load(damaged), { code: "checksum-mismatch", names: [name] });
    await expectError(() => verifyCheckpoint(damaged), {
      code: "checksum-mismatch",
      names: [name],
    });
    expect((await load(damaged, { verify: false })).params.get("layers.0.bias")).toEqual(bias);
    metadata.set("crc32", "zz");
    const short = encodeSafetensors(tensors, { metadata });
    await expectError(() => load(short), { code: "checksum-mismatch", names: ["hex digits"] });
    metadata.delete("crc32");
    const none = encodeSafetensors(tensors, { metadata });
    await expectError(() => load(none), { code: "checksum-mismatch", names: ["crc32"] });
    expect((await load(none, { verify: false })).step).toBe(12);
  });

  test("tells what it holds without its arrays", async () => {
    const extra = { large: tensor(new Float64Array(100_000)) };
    const bytes = await encode({ ...adamState(random(8)), metrics: { loss: 2 }, extra });
    let read = 0;
    const source = {
      ...bytesSource(bytes),
      read: (...args: Parameters<ReturnType<typeof bytesSource>["read"]>) => {
        read += args[1];
        return bytesSource(bytes).read(...args);
      },
    };
    const summary = await inspectCheckpoint(source);
    expect(summary).toMatchObject({
      format: "safetensors",
      version: 1,
      step: 12,
      config: { lr: 0.01, name: "tiny" },
      optimizers: ["adam"],
      metrics: { loss: 2 },
      byteLength: bytes.length,
    });
    expect(summary.params.get("layers.1.weight")).toEqual({
      dtype: "float32",
      shape: [3, 2],
      byteLength: 24,
    });
    expect(read).toBeLessThan(70_000);
    expect(await verifyCheckpoint(bytes)).toEqual(summary);
  });
});
