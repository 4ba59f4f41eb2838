// A TensorFlow.js model and its Adam are saved by name in the middle of training, loaded into a model built anew, and
// trained on: on the CPU backend the result is that of the uninterrupted run, bit for bit.
import "@tensorflow/tfjs-backend-cpu";
import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as tf from "@tensorflow/tfjs-core"; // `@tensorflow/tfjs` has all three of these in one
import * as layers from "@tensorflow/tfjs-layers";
import { tfjsAdapter, tfjsModel, tfjsOptimizer } from "@tensorjar/tree/tfjs";
import { flattenTree, loadInto, save } from "tensorjar";

await tf.setBackend("cpu");
const adapters = [tfjsAdapter(tf)];

/** A network whose layers have names, as the file will have them. The seeds let the two runs start alike. */
function build() {
  const kernel = (seed) => ({
    kernelInitializer: layers.initializers.glorotUniform({ seed }),
  });
  const model = layers.sequential({
    layers: [
      layers.layers.dense({
        name: "hidden",
        units: 16,
        activation: "tanh",
        inputShape: [2],
        ...kernel(1),
      }),
      layers.layers.dense({ name: "out", units: 1, ...kernel(2) }),
    ],
  });
  model.compile({ optimizer: tf.train.adam(0.02), loss: "meanSquaredError" });
  return model;
}

/** Weights and moments by the names of their layers: `model.hidden/kernel`, `optimizer.hidden/kernel/m`. */
const stateOf = (model) => ({
  model: tfjsModel(model),
  optimizer: tfjsOptimizer(tf, model.optimizer, model),
});

const x = tf.randomUniform([256, 2], -1, 1, "float32", 3);
const y = tf.mul(tf.slice(x, [0, 0], [-1, 1]), tf.slice(x, [0, 1], [-1, 1]));

async function train(model, epochs) {
  const { history } = await model.fit(x, y, { epochs, batchSize: 32, shuffle: false, verbose: 0 });
  return history.loss;
}

const folder = await mkdtemp(join(tmpdir(), "tfjs-resume-"));
try {
  const path = join(folder, "model.safetensors");
  const whole = build();
  const losses = await train(whole, 10);

  const first = build();
  await train(first, 5);
  await save(path, stateOf(first), { adapters });
  console.log(`saved after 5 of 10 epochs: ${(await stat(path)).size} bytes`);
  for (const [name, { shape }] of flattenTree(stateOf(first), { adapters }))
    console.log(`  ${name} [${shape}]`);

  const resumed = build();
  await loadInto(path, stateOf(resumed), { adapters });
  assert.deepEqual(await train(resumed, 5), losses.slice(5));
  assert.deepEqual(
    flattenTree(stateOf(resumed), { adapters }),
    flattenTree(stateOf(whole), { adapters }),
  );
  console.log(`resumed: loss ${losses.at(-1)}, every weight and moment bit-identical`);

  // Without the optimizer's state the weights are right and the training is not.
  const cold = build();
  await loadInto(path, { model: tfjsModel(cold) }, { adapters, mode: "partial" });
  const coldLosses = await train(cold, 5);
  assert.notDeepEqual(coldLosses, losses.slice(5));
  console.log(`resumed without Adam's moments: loss ${coldLosses.at(-1)}`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
