import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import * as layers from "@tensorflow/tfjs-layers";
import { type Tensor, tensor } from "@tensorjar/core";
import {
  flattenTree,
  flattenTreeAsync,
  type LeafAdapter,
  loadTree,
  visitTree,
} from "@tensorjar/tree";
import { tfjsAdapter, tfjsModel, tfjsOptimizer } from "@tensorjar/tree/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { bytesOf, expectError } from "../../../tooling/testing.js";

const adapters = [tfjsAdapter(tf)];

beforeAll(async () => {
  await tf.setBackend("cpu");
});

afterEach(() => {
  tf.disposeVariables();
});

function bits(flat: Map<string, Tensor>): Record<string, number[]> {
  return Object.fromEntries([...flat].map(([name, { data }]) => [name, [...bytesOf(data)]]));
}

/** The same initial weights in every model, so that runs can be compared. */
function build(optimizer = tf.train.adam(0.01)): layers.Sequential {
  const model = layers.sequential();
  const seed = (n: number) => layers.initializers.glorotUniform({ seed: n });
  model.add(
    layers.layers.dense({
      name: "hidden",
      inputShape: [3],
      units: 8,
      activation: "relu",
      kernelInitializer: seed(1),
    }),
  );
  model.add(layers.layers.batchNormalization({ name: "norm" }));
  model.add(layers.layers.dense({ name: "out", units: 1, kernelInitializer: seed(2) }));
  model.compile({ optimizer, loss: "meanSquaredError" });
  return model;
}

function stateOf(model: layers.LayersModel): object {
  return { model: tfjsModel(model), optimizer: tfjsOptimizer(tf, model.optimizer, model) };
}

const x = tf.keep(tf.randomNormal([32, 3], 0, 1, "float32", 3));
const y = tf.keep(tf.randomNormal([32, 1], 0, 1, "float32", 4));

async function train(model: layers.LayersModel, epochs: number): Promise<void> {
  await model.fit(x, y, { epochs, batchSize: 8, shuffle: false, verbose: 0 });
}

function predict(model: layers.LayersModel): Uint8Array {
  return tf.tidy(() => bytesOf((model.predict(x) as tf.Tensor).dataSync()).slice());
}

describe("a model with its optimizer", () => {
  test("names are those the layers gave, whatever tfjs made of them in this process", async () => {
    build();
    const model = build();
    await train(model, 1);
    const names = [...flattenTree(stateOf(model), { adapters }).keys()];
    expect(names).toEqual([
      "model.hidden/kernel",
      "model.hidden/bias",
      "model.norm/gamma",
      "model.norm/beta",
      "model.out/kernel",
      "model.out/bias",
      "model.norm/moving_mean",
      "model.norm/moving_variance",
      "optimizer.iter",
      "optimizer.accBeta1",
      "optimizer.accBeta2",
      ...["m", "v"].flatMap((slot) =>
        ["hidden/kernel", "hidden/bias", "norm/gamma", "norm/beta", "out/kernel", "out/bias"].map(
          (name) => `optimizer.${name}/${slot}`,
        ),
      ),
    ]);
  });

  test("loaded into a fresh one it predicts identically and trains on bit by bit as the uninterrupted one", async () => {
    const whole = build();
    await train(whole, 4);

    const first = build();
    await train(first, 2);
    const saved = flattenTree(stateOf(first), { adapters });
    const shuffled = new Map([...saved].reverse());

    const resumed = build();
    const variables = resumed.weights.map((weight) => weight.read());
    const report = loadTree(stateOf(resumed), shuffled, { adapters });
    expect(report.loaded).toHaveLength(saved.size);
    expect(resumed.weights.map((weight) => weight.read())).toEqual(variables);
    expect(predict(resumed)).toEqual(predict(first));
    expect(bits(flattenTree(stateOf(resumed), { adapters }))).toEqual(bits(saved));

    await train(resumed, 2);
    expect(resumed.optimizer.iterations).toBe(16);
    expect(bits(flattenTree(stateOf(resumed), { adapters }))).toEqual(
      bits(flattenTree(stateOf(whole), { adapters })),
    );
    expect(predict(resumed)).toEqual(predict(whole));

    const forgetful = build();
    loadTree({ model: tfjsModel(forgetful) }, saved, { adapters, mode: "partial" });
    await train(forgetful, 2);
    expect(predict(forgetful)).not.toEqual(predict(whole));
  });

  test("a failing load changes nothing, and leaks no tensor", async () => {
    const model = build();
    await train(model, 1);
    const tree = stateOf(model);
    const saved = flattenTree(tree, { adapters });
    await train(model, 1);
    const before = bits(flattenTree(tree, { adapters }));
    const tensors = tf.memory().numTensors;
    const broken: LeafAdapter = {
      ...tfjsAdapter(tf),
      write: (leaf, given) => {
        if (writes++ === 9) throw new Error("the device is lost");
        return tfjsAdapter(tf).write(leaf, given);
      },
    };
    let writes = 0;
    expect(() => loadTree(tree, saved, { adapters: [broken] })).toThrow("the device is lost");
    expect(bits(flattenTree(tree, { adapters }))).toEqual(before);
    saved.delete("model.out/kernel");
    await expectError(() => loadTree(tree, saved, { adapters }), {
      code: "tree-mismatch",
      names: ["out/kernel"],
    });
    expect(tf.memory().numTensors).toBe(tensors);
    const full = new Map([
      ...saved,
      ["model.out/kernel", tensor(new Float32Array(8), [8, 1])] as const,
    ]);
    loadTree(tree, full, { adapters });
    expect(tf.memory().numTensors).toBe(tensors);
  });

  test("a frozen layer is not trainable, and a moving mean never is", () => {
    const model = build();
    const hidden = model.getLayer("hidden");
    hidden.trainable = false;
    const trainable: string[] = [];
    visitTree(
      tfjsModel(model),
      { leaf: (path, _leaf, _kind, yes) => yes && trainable.push(path) },
      { adapters },
    );
    expect(trainable).toEqual(["norm/gamma", "norm/beta", "out/kernel", "out/bias"]);
  });
});

describe("every optimizer", () => {
  const make: Record<string, () => tf.Optimizer> = {
    sgd: () => tf.train.sgd(0.1),
    momentum: () => tf.train.momentum(0.1, 0.9),
    adagrad: () => tf.train.adagrad(0.1),
    adadelta: () => tf.train.adadelta(0.1),
    adam: () => tf.train.adam(0.1),
    adamax: () => tf.train.adamax(0.1),
    rmsprop: () => tf.train.rmsprop(0.1, 0.9, 0.5, undefined, true),
  };
  for (const [name, create] of Object.entries(make)) {
    test(`${name} goes on as if it had not stopped, its slots started without a step`, () => {
      const start = () =>
        [tf.variable(tf.tensor1d([1, -0, 3])), tf.variable(tf.tensor2d([[1, 2]]))] as const;
      const step = (optimizer: tf.Optimizer, [a, b]: ReturnType<typeof start>) =>
        optimizer.minimize(
          () => tf.add(tf.sum(tf.square(tf.sub(a, 0.25))), tf.sum(tf.square(b))) as tf.Scalar,
          false,
          [a, b],
        );
      const tree = (optimizer: tf.Optimizer, variables: ReturnType<typeof start>) => ({
        params: { a: variables[0], b: variables[1] },
        optimizer: tfjsOptimizer(tf, optimizer, variables),
      });
      const [whole, wholeVariables] = [create(), start()];
      for (let i = 0; i < 5; i++) step(whole, wholeVariables);

      const [first, firstVariables] = [create(), start()];
      for (let i = 0; i < 3; i++) step(first, firstVariables);
      const saved = flattenTree(tree(first, firstVariables), { adapters });

      const [resumed, variables] = [create(), start()];
      const untouched = bytesOf(variables[0].dataSync()).slice();
      const target = tree(resumed, variables);
      const fresh = flattenTree(target, { adapters });
      expect(fresh.get("optimizer.iter")?.data).toEqual(Int32Array.of(0));
      expect(bytesOf(variables[0].dataSync())).toEqual(untouched);

      const names = new Map([...saved.keys()].map((key) => [key, key] as const));
      const ids = new Map(
        firstVariables.map((v, i) => [v.name, variables[i]?.name ?? ""] as const),
      );
      for (const key of names.keys()) {
        for (const [from, to] of ids)
          if (key.startsWith(`optimizer.${from}/`)) names.set(key, key.replace(from, to));
      }
      loadTree(target, saved, { adapters, rename: (key) => names.get(key) ?? key });
      for (let i = 0; i < 2; i++) step(resumed, variables);
      expect([...bytesOf(variables[0].dataSync())]).toEqual([
        ...bytesOf(wholeVariables[0].dataSync()),
      ]);
      expect([...bytesOf(variables[1].dataSync())]).toEqual([
        ...bytesOf(wholeVariables[1].dataSync()),
      ]);
      expect(resumed.iterations).toBe(5);
    });
  }

  test("slots that belong to other variables are refused", async () => {
    const a = tf.variable(tf.tensor1d([1, 2]));
    const b = tf.variable(tf.tensor1d([1, 2, 3]));
    const optimizer = tf.train.adam(0.1);
    optimizer.minimize(() => tf.sum(tf.square(a)) as tf.Scalar, false, [a]);
    await expectError(() => flattenTree(tfjsOptimizer(tf, optimizer, [b]), { adapters }), {
      code: "invalid-argument",
      names: ["slots", "variables"],
    });
    await expectError(() => flattenTree(tfjsOptimizer(tf, optimizer, [a, b]), { adapters }), {
      code: "invalid-argument",
    });
  });
});

describe("tensors and variables", () => {
  test("every dtype that holds numbers is read as a copy, sync and async, and loaded bit by bit", async () => {
    const nan = new Float32Array(new Uint32Array([0x7fc00001, 0x80000000]).buffer);
    const tree = {
      f: tf.tensor1d(nan),
      i: tf.tensor2d([[1], [-2]], undefined, "int32"),
      b: tf.tensor1d([true, false], "bool"),
      c: tf.complex([1, 2], [3, 4]),
      s: tf.scalar(0.5),
    };
    const flat = flattenTree(tree, { adapters });
    expect(flat.get("f")).toEqual(tensor(nan));
    expect(flat.get("i")).toEqual(tensor(Int32Array.of(1, -2), [2, 1]));
    expect(flat.get("b")).toEqual(tensor(Uint8Array.of(1, 0), [2], "bool"));
    expect(flat.get("c")).toEqual(tensor(Float32Array.of(1, 3, 2, 4), [2], "complex64"));
    expect(flat.get("s")).toEqual(tensor(Float32Array.of(0.5), []));
    expect(await flattenTreeAsync(tree, { adapters: [tfjsAdapter(tf, { async: true })] })).toEqual(
      flat,
    );
    flat.get("s")?.data.fill(7 as never);
    expect(tree.s.dataSync()[0]).toBe(0.5);
    const old = tree.f;
    const given = flattenTree(tree, { adapters });
    loadTree(tree, given, { adapters });
    expect(tree.f).not.toBe(old);
    expect(bits(flattenTree(tree, { adapters }))).toEqual(bits(given));
    given.get("f")?.data.fill(7 as never);
    expect(bits(flattenTree(tree, { adapters }))["f"]).toEqual([...bytesOf(nan)]);
  });

  test("strings hold no numbers, variables keep their shape, tfjs has no float64", async () => {
    await expectError(() => flattenTree({ s: tf.tensor1d(["x"]) }, { adapters }), {
      code: "unsupported",
      names: ["string"],
    });
    const v = tf.variable(tf.tensor1d([1, 2]));
    await expectError(
      () => loadTree({ v }, { v: tensor(Float32Array.of(1)) }, { adapters, shape: "any" }),
      { code: "unsupported", names: ["shape"] },
    );
    const t = tf.tensor1d([1]);
    await expectError(
      () => loadTree({ t }, { t: tensor(Float64Array.of(1)) }, { adapters, dtype: "keep" }),
      { code: "unsupported", names: ["float64"] },
    );
  });

  test("without the adapter the error says what is missing", async () => {
    await expectError(() => flattenTree({ v: tf.tensor1d([1]) }), {
      code: "invalid-argument",
      names: ['"v"', "adapter"],
    });
  });
});
