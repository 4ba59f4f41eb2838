import { openCheckpoints } from "@tensorjar/checkpoint";
import { folderStore } from "@tensorjar/checkpoint/node";

/** A third of `bytes` bytes in arrays of 5.3 MiB. */
function arrays(bytes) {
  const count = Math.max(1, Math.round(bytes / 2 ** 24));
  const elements = Math.floor(bytes / 3 / count / 4);
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `layer_${i}`,
      { dtype: "float32", shape: [elements], data: new Float32Array(elements).fill(i + 0.5) },
    ]),
  );
}

/** Adam's state: parameters and their two moments. */
export function save({ folder, bytes }) {
  const [params, exp_avg, exp_avg_sq] = [bytes, bytes, bytes].map(arrays);
  const state = { params, optimizers: { adam: { step: 0, exp_avg, exp_avg_sq } }, step: 0 };
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

/** The same arrays copied into memory that is there already. */
export function copy({ bytes }) {
  const all = [bytes, bytes, bytes].flatMap((each) => Object.values(arrays(each)));
  const into = new Uint8Array(bytes).fill(2);
  return {
    run() {
      let at = 0;
      for (const { data } of all) {
        into.set(new Uint8Array(data.buffer), at);
        at += data.byteLength;
      }
    },
  };
}
