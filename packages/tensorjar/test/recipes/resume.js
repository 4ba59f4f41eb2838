import { keepLatest, openCheckpoints, opfsStore, zeros } from "tensorjar";

/** Trains in a page or a worker up to `steps`. A tab that was closed or crashed goes on from its last checkpoint. */
export async function train(steps, update) {
  const weights = () => ({ weight: zeros([1000]) });
  const state = {
    params: weights(),
    optimizers: { adam: { step: 0, exp_avg: weights(), exp_avg_sq: weights() } },
    step: 0,
  };
  const checkpoints = openCheckpoints(opfsStore(), { keep: keepLatest(2) }); // the page's private files
  try {
    await checkpoints.restore(state); // the newest that is whole; changes nothing at the first start
    while (state.step < steps) {
      await update(state); // your step, which counts state.step and state.optimizers.adam.step
      if (state.step % 10 === 0) await checkpoints.save(state).snapshotted; // copied; written meanwhile
    }
  } finally {
    await checkpoints.close(); // waits for the last file
  }
  return state;
}
