// A page that trains and saves in the browser's private file system until its tab crashes; run by ../kill-tab.mjs.
import { keepLatest, openCheckpoints, opfsStore, tensor } from "@tensorjar/checkpoint";

const elements = 1 << 16;

/** Saves until it is stopped or `saves` are done. `say` gets what was restored and what is durable. */
export async function train(saves, say) {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle("run", { create: true });
  const array = () => tensor(new Float32Array(elements));
  const state = { params: { a: array(), b: array() }, optimizers: { sgd: { step: 0 } }, step: 0 };
  const checkpoints = openCheckpoints(opfsStore(folder), { keep: keepLatest(2) });
  const restored = await checkpoints.restore(state);
  if (restored?.skipped.length > 0)
    throw new Error(`passed over ${restored.skipped[0].error.message}`);
  const same = [state.params.a, state.params.b].every(({ data }) =>
    data.every((x) => x === state.step),
  );
  if (!same || state.optimizers.sgd.step !== state.step)
    throw new Error(`a mixture at step ${state.step}`);
  await say("restored", state.step);
  for (let saved = 0; saved < saves; saved++) {
    state.step++;
    state.optimizers.sgd.step++;
    for (const { data } of [state.params.a, state.params.b]) data.fill(state.step);
    await checkpoints.save(state);
    await say("durable", state.step);
    const names = [];
    for await (const name of folder.keys()) names.push(name);
    const litter = names.filter((name) => !/^step-\d{12}\.safetensors$/.test(name));
    if (litter.length > 0) throw new Error(`litter: ${litter.join(", ")}`);
  }
  await checkpoints.close();
}

globalThis.train = train;
