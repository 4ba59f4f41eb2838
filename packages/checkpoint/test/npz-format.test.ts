import {
  npzCheckpoint,
  restoreSnapshot,
  safetensorsCheckpoint,
  type TrainingState,
  takeSnapshot,
  tensor,
} from "@tensorjar/checkpoint";
import { decodeNpz, encodeNpz, type NpyArray } from "@tensorjar/npz";
import { describe, expect, test } from "vitest";
import { expectError, random } from "../../../tooling/testing.js";
import { adamState, content, gather } from "./support.js";

const vector = (...values: number[]) => tensor(Float32Array.from(values));
const encode = (state: TrainingState, options?: Parameters<typeof npzCheckpoint.chunks>[1]) =>
  gather(npzCheckpoint.chunks(state, options));

const state = (): TrainingState => ({
  params: { means: vector(1, 2), scales: vector(3) },
  optimizers: {
    means: {
      step: { default: 4 },
      exp_avg: { default: vector(5, 6) },
      exp_avg_sq: { default: vector(7, 8) },
    },
    adam: { step: 9, exp_avg: { scales: vector(10) }, exp_avg_sq: { scales: vector(11) } },
  },
  step: 12,
  config: { lr: 0.1 },
});

/** An archive of one checkpoint with some entries changed. */
async function edited(edit: (entries: Map<string, NpyArray>) => void): Promise<Uint8Array> {
  const entries = decodeNpz(await encode(state()));
  edit(entries);
  return encodeNpz(entries);
}

describe("a checkpoint as an .npz archive", () => {
  test("has the gem's entries, in its order", async () => {
    const entries = decodeNpz(await encode(state()));
    expect([...entries.keys()]).toEqual([
      "checkpoint_version",
      "checkpoint_step",
      "checkpoint_config_json",
      "param___means",
      "param___scales",
      "optimizer___means___default___step",
      "optimizer___means___default___exp_avg",
      "optimizer___means___default___exp_avg_sq",
      "optimizer___adam___scales___step",
      "optimizer___adam___scales___exp_avg",
      "optimizer___adam___scales___exp_avg_sq",
    ]);
    expect(entries.get("checkpoint_step")).toEqual(tensor(BigInt64Array.of(12n)));
    expect(entries.get("checkpoint_version")).toEqual(tensor(Int32Array.of(1)));
  });

  test("resumes the state that it was made of, and of either container", async () => {
    const live = state();
    for (const format of [npzCheckpoint, safetensorsCheckpoint]) {
      const loaded = await format.load(await gather(format.chunks(state())));
      live.step = 0;
      Reflect.get(live.params, "means").data.fill(0);
      restoreSnapshot(loaded, live);
      expect(live).toEqual(state());
    }
  });

  test("calls dotted paths by an explicit mapping, both ways, and never by one of its own", async () => {
    const names = {
      toFile: (path: string) => path.replaceAll(".", "__"),
      toTree: (name: string) => name.replaceAll("__", "."),
    };
    const trained = { ...adamState(random(1)), config: {} };
    await expectError(() => encode(trained), {
      code: "invalid-name",
      names: ["layers\\.0\\.weight", "names"],
    });
    const loaded = await npzCheckpoint.load(await encode(trained, { names }));
    expect([...loaded.params.keys()]).toContain("layers__0__weight");
    const live = adamState(random(2), 0);
    await expectError(() => restoreSnapshot(loaded, live), { code: "tree-mismatch" });
    restoreSnapshot(loaded, live, { names });
    expect(content(takeSnapshot({ ...live, config: {} }))).toEqual(content(takeSnapshot(trained)));
    await expectError(() => encode(trained, { names: { ...names, toFile: () => "one" } }), {
      code: "duplicate-name",
    });
  });

  test("refuses names that the schema would read as others", async () => {
    const { exp_avg, exp_avg_sq } = { exp_avg: { w: vector(1) }, exp_avg_sq: { w: vector(1) } };
    const slots = (group: string) => ({
      step: 1,
      exp_avg: { [group]: vector(1) },
      exp_avg_sq: { [group]: vector(1) },
    });
    const base = { params: {}, optimizers: {}, step: 1 };
    for (const wrong of [
      { ...base, params: { a___b: vector(1) } },
      { ...base, params: { "a-b": vector(1) } },
      { ...base, params: { ü: vector(1) } },
      { ...base, params: vector(1) },
      { ...base, optimizers: { a___b: { step: 1, exp_avg, exp_avg_sq } } },
      { ...base, optimizers: { a_: { step: 1, exp_avg, exp_avg_sq } } },
      { ...base, optimizers: { a: slots("_g") } },
      { ...base, optimizers: { a: slots("g___h") } },
      { ...base, extra: { param___a: vector(1) } },
      { ...base, extra: { checkpoint_step: vector(1) } },
    ]) {
      await expectError(() => encode(wrong), { code: "invalid-name" });
    }
    const fine = {
      ...base,
      params: { _a: vector(1), b_: vector(1) },
      optimizers: { _a: slots("g_") },
    };
    const loaded = await npzCheckpoint.load(await encode(fine));
    expect([...loaded.params.keys()]).toEqual(["_a", "b_"]);
    expect(loaded.optimizers.get("_a")?.slots.get("exp_avg")?.has("g_")).toBe(true);
  });

  test("names what it cannot hold", async () => {
    const base = { params: {}, optimizers: {}, step: 1 };
    const one = { w: vector(1) };
    const cases: [what: string, state: TrainingState][] = [
      ["metrics", { ...base, metrics: { loss: 1 } }],
      [
        "hyperparameters",
        {
          ...base,
          optimizers: { a: { step: 1, hyperparameters: {}, exp_avg: one, exp_avg_sq: one } },
        },
      ],
      [
        "max_exp_avg_sq",
        {
          ...base,
          optimizers: { a: { step: 1, exp_avg: one, exp_avg_sq: one, max_exp_avg_sq: one } },
        },
      ],
      ["without step", { ...base, optimizers: { a: { step: 1, exp_avg: one } } }],
      ["without step", { ...base, optimizers: { a: { step: 1, exp_avg_sq: one } } }],
      ["without step", { ...base, optimizers: { a: { step: {}, exp_avg: one, exp_avg_sq: one } } }],
      [
        "without step",
        { ...base, optimizers: { a: { step: { w: 1, b: 1 }, exp_avg: one, exp_avg_sq: one } } },
      ],
      ["without moments", { ...base, optimizers: { sgd: { step: 1 } } }],
      [
        "unlike shapes",
        { ...base, optimizers: { a: { step: 1, exp_avg: one, exp_avg_sq: { w: vector(1, 2) } } } },
      ],
      ["bfloat16", { ...base, params: { w: tensor(new Uint16Array(1), [1], "bfloat16") } }],
      ["uint32", { ...base, extra: { rng: tensor(new Uint32Array(1)) } }],
    ];
    for (const [what, wrong] of cases) {
      await expectError(() => encode(wrong), { code: "unsupported", names: [what, "safetensors"] });
    }
    await expectError(() => encode({ ...base, step: -1 }), { code: "invalid-argument" });
  });

  test("lists everything that is wrong with a file at once", async () => {
    const bytes = await edited((entries) => {
      entries.delete("checkpoint_step");
      entries.set("checkpoint_config_json", tensor(new TextEncoder().encode('{"a":')));
      entries.delete("optimizer___means___default___exp_avg_sq");
      entries.set("optimizer___adam___scales___step", tensor(BigInt64Array.of(-1n)));
      entries.set("optimizer___adam___scales___exp_avg", vector(1, 2));
    });
    const error = await expectError(() => npzCheckpoint.load(bytes), {
      code: "invalid-checkpoint",
      names: [
        "checkpoint_step.*missing",
        "config.*position 5",
        "means___default___exp_avg_sq.*missing",
        "adam___scales___step.*-1",
        "adam___scales___exp_avg.*\\[2\\] and \\[1\\]",
      ],
    });
    expect(error.details.problems).toHaveLength(5);
  });

  test("reads counts of any integer dtype, as a scalar or as one element, and refuses others", async () => {
    const name = "optimizer___adam___scales___step";
    for (const step of [
      tensor(5, [], "int64"),
      tensor(Uint8Array.of(5)),
      tensor(5, [], "int32"),
      tensor(BigUint64Array.of(5n)),
    ]) {
      const loaded = await npzCheckpoint.load(await edited((entries) => entries.set(name, step)));
      expect(loaded.optimizers.get("adam")?.step).toEqual(new Map([["scales", 5]]));
    }
    for (const step of [
      vector(5),
      tensor(BigInt64Array.of(5n, 6n)),
      tensor(2n ** 53n, [], "int64"),
      tensor(5, [1, 1], "int64"),
      tensor(1, [], "bool"),
    ]) {
      const bytes = await edited((entries) => entries.set(name, step));
      await expectError(() => npzCheckpoint.load(bytes), {
        code: "invalid-checkpoint",
        names: [name],
      });
    }
    const future = await edited((entries) =>
      entries.set("checkpoint_version", tensor(7, [], "int64")).delete("checkpoint_step"),
    );
    const newer = await expectError(() => npzCheckpoint.load(future), {
      code: "unsupported-version",
      names: ["\\b7\\b", "\\b1\\b"],
    });
    expect(newer.details).toMatchObject({ expected: 1, actual: 7 });
    const late = await edited((entries) =>
      entries.set("checkpoint_version", tensor(2n ** 63n, [], "uint64")),
    );
    await expectError(() => npzCheckpoint.load(late), {
      code: "unsupported-version",
      names: ["\\b9223372036854776000\\b", "\\b1\\b"],
    });
    for (const version of [tensor(0, [1], "int32"), tensor(-1, [1], "int64")]) {
      const early = await edited((entries) => entries.set("checkpoint_version", version));
      await expectError(() => npzCheckpoint.load(early), {
        code: "invalid-checkpoint",
        names: ["version"],
      });
    }
    await expectError(() => npzCheckpoint.load(encodeNpz({ w: vector(1) })), {
      code: "invalid-checkpoint",
      names: ["checkpoint_version"],
    });
  });

  test("keeps entries of other names, and writes them again", async () => {
    const bytes = await edited((entries) => entries.set("notes", tensor(Int32Array.of(1, 2))));
    const loaded = await npzCheckpoint.load(bytes);
    expect(loaded.extra).toEqual(new Map([["notes", tensor(Int32Array.of(1, 2))]]));
    const again = await npzCheckpoint.load(await gather(npzCheckpoint.chunks(loaded)));
    expect(content(again)).toEqual(content(loaded));
    const words = await edited((entries) =>
      entries.set("words", { dtype: "string", shape: [1], data: ["a"], itemLength: 1 }),
    );
    await expectError(() => npzCheckpoint.load(words), {
      code: "invalid-checkpoint",
      names: ["words", "string"],
    });
  });

  test("detects a flipped bit in every byte, or it is harmless", { timeout: 60_000 }, async () => {
    const bytes = await encode({ ...state(), optimizers: {} });
    const whole = content(await npzCheckpoint.load(bytes));
    for (let at = 0; at < bytes.length; at++) {
      const damaged = bytes.slice();
      damaged[at]! ^= 1 << (at % 8); // within the array
      try {
        expect(content(await npzCheckpoint.load(damaged))).toEqual(whole);
      } catch (error) {
        await expectError(() => Promise.reject(error));
      }
    }
  });

  test("detects every cut", { timeout: 60_000 }, async () => {
    const bytes = await encode(state());
    for (let length = 0; length < bytes.length; length += 7) {
      await expectError(() => npzCheckpoint.load(bytes.subarray(0, length)), {
        code: ["truncated", "invalid-archive", "not-this-format"],
      });
    }
  });
});
