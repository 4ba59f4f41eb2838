// Trains, saves checkpoints and resumes from the newest good one.
import {
  keepLatest,
  openCheckpoints,
  saveCheckpoint,
  type TrainingState,
  tensor,
  zeros,
} from "tensorjar";

const shape = [784, 10];

export async function train(
  folder: string,
  update: (state: TrainingState) => number,
): Promise<void> {
  const state = {
    params: { layer: { weight: tensor(new Float32Array(7840), shape), bias: zeros([10]) } },
    optimizers: {
      adam: {
        step: 0,
        hyperparameters: { lr: 1e-3, betas: [0.9, 0.999] },
        exp_avg: { layer: { weight: zeros(shape), bias: zeros([10]) } },
        exp_avg_sq: { layer: { weight: zeros(shape), bias: zeros([10]) } },
      },
    },
    step: 0,
    config: { batch: 32 },
    metrics: { loss: Number.POSITIVE_INFINITY },
  };
  const checkpoints = openCheckpoints(folder, { keep: keepLatest(3) });
  const resumed = await checkpoints.restore(state);
  for (const { name, error } of resumed?.skipped ?? []) console.log(name, error.code);
  while (state.step < 1000) {
    state.metrics.loss = update(state);
    if (state.step % 100 === 0) {
      const saving = checkpoints.save(state);
      await saving.snapshotted;
    }
  }
  await checkpoints.close();
  await saveCheckpoint("final.safetensors", state);
}
