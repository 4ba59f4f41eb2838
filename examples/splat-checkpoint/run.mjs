// A Gaussian-splat training state in the gsplat gem's NPZ schema: each parameter has an Adam of its own, and the
// number of Gaussians changes while training, so a checkpoint restores into a state of another size.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadCheckpoint, npzCheckpoint, restoreCheckpoint, saveCheckpoint, zeros } from "tensorjar";

const widths = { means: [3], scales: [3], quats: [4], opacities: [], sh0: [1, 3], shN: [0, 3] };

function state(gaussians) {
  const params = {};
  const optimizers = {};
  for (const [name, width] of Object.entries(widths)) {
    const shape = [gaussians, ...width];
    params[name] = zeros(shape);
    optimizers[name] = {
      step: { default: 0 },
      exp_avg: { default: zeros(shape) },
      exp_avg_sq: { default: zeros(shape) },
    };
  }
  return { params, optimizers, step: 0, config: { sh_degree: 0 } };
}

const folder = await mkdtemp(join(tmpdir(), "splat-checkpoint-"));
try {
  const path = join(folder, "splat.npz");
  const trained = state(2000);
  trained.step = 700;
  for (let i = 0; i < 6000; i++) trained.params.means.data[i] = Math.cos(i);
  for (const optimizer of Object.values(trained.optimizers)) optimizer.step.default = 700;
  await saveCheckpoint(path, trained, { format: npzCheckpoint });

  // Started anew with another number of Gaussians: strictly, every difference is listed and nothing is changed.
  const fresh = state(500);
  await assert.rejects(restoreCheckpoint(path, fresh), (error) => {
    console.log(
      `refused: ${error.details.problems.length} problems, such as ${error.details.problems[0].path}`,
    );
    return error.code === "tree-mismatch";
  });
  assert.equal(fresh.step, 0);

  await restoreCheckpoint(path, fresh, { shape: "any" });
  assert.equal(fresh.step, 700);
  assert.deepEqual(fresh.params, trained.params);
  assert.deepEqual(fresh.optimizers, trained.optimizers);
  const { params, config } = await loadCheckpoint(path);
  console.log(
    `restored: step ${fresh.step}, ${fresh.params.means.shape[0]} Gaussians, ${params.size} parameters`,
  );
  console.log(`config: ${JSON.stringify(config)}, shN of shape [${params.get("shN").shape}]`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
