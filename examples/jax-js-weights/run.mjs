// Weights from a safetensors file into jax-js arrays, on its wasm device, and a network computed with them.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as jax from "@jax-js/jax";
import { jaxAdapter } from "@tensorjar/tree/jax";
import { load, loadInto, save, tensor, unflattenTree } from "tensorjar";

await jax.init("wasm");
jax.defaultDevice("wasm");
const { numpy: np } = jax;
const adapters = [jaxAdapter(jax)];

/** A network of the right shape, as a model of jax-js would make it; jax-js counts references, so uses take `.ref`. */
const params = {
  hidden: { kernel: np.zeros([3, 4]), bias: np.zeros([4]) },
  out: { kernel: np.zeros([4, 2]), bias: np.zeros([2]) },
};
const apply = ({ hidden, out }, x) => {
  const h = np.tanh(np.dot(x, hidden.kernel.ref).add(hidden.bias.ref));
  return np.dot(h, out.kernel.ref).add(out.bias.ref);
};

const folder = await mkdtemp(join(tmpdir(), "jax-js-weights-"));
try {
  // What a trained model left: by the names that Flax gives, `hidden.kernel` and so on.
  const wave = (rows, columns) =>
    tensor(
      Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i + rows)),
      [rows, columns],
    );
  const trained = {
    hidden: { kernel: wave(3, 4), bias: tensor(Float32Array.of(0.5, -0.5, 0.25, 0)) },
    out: { kernel: wave(4, 2), bias: tensor(Float32Array.of(1, -1)) },
  };
  const path = join(folder, "weights.safetensors");
  await save(path, trained);

  // Strictly: a name, shape or dtype that does not fit is listed, and no array is replaced.
  const { loaded } = await loadInto(path, params, { adapters });
  console.log(`loaded onto ${params.hidden.kernel.device}: ${loaded.join(", ")}`);

  const output = apply(params, np.array([[1, -2, 0.5]])).js();
  console.log("output:", output);
  const expected = plainly(trained, [1, -2, 0.5]);
  for (const [i, value] of output[0].entries()) assert.ok(Math.abs(value - expected[i]) < 1e-5);

  // And back: reading consumes no reference, so the arrays go on to be used.
  await save(join(folder, "again.safetensors"), params, { adapters });
  const { tensors } = await load(join(folder, "again.safetensors"));
  assert.deepEqual(unflattenTree(tensors), unflattenTree((await load(path)).tensors));
  console.log("saved again: the same bits");
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** The same network in plain JavaScript. */
function plainly({ hidden, out }, x) {
  const layer = ({ kernel, bias }, input) =>
    Array.from(bias.data, (b, j) =>
      input.reduce((sum, value, i) => sum + value * kernel.data[i * bias.data.length + j], b),
    );
  return layer(out, layer(hidden, x).map(Math.tanh));
}
