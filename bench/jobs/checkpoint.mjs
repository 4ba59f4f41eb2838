import { openCheckpoints } from "@tensorjar/checkpoint";
import { folderStore } from "@tensorjar/checkpoint/node";

/** Adam's state of `bytes` bytes in 48 arrays: a third each of parameters and their two moments. */
export function save({ folder, bytes }) {
  const elements = Math.floor(bytes / 48 / 4);
  const arrays = () =>
    Object.fromEntries(
      Array.from({ length: 16 }, (_, i) => [
        `layer_${i}`,
        { dtype: "float32", shape: [elements], data: new Float32Array(elements).fill(i + 0.5) },
      ]),
    );
  const state = {
    params: arrays(),
    optimizers: { adam: { step: 0, exp_avg: arrays(), exp_avg_sq: arrays() } },
    step: 0,
  };
  const checkpoints = openCheckpoints(folderStore(folder));
  return {
    /** Only until `save` returns: the rest happens behind the training. */
    async run() {
      state.step++;
      const start = performance.now();
      const saving = checkpoints.save(state);
      const ms = performance.now() - start;
      await saving;
      return { ms };
    },
  };
}
