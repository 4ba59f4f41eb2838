// One process of training: node train.mjs '{"until":150,"save":"a.safetensors"}'; prints what happened as JSON.
import { restoreCheckpoint, save, saveCheckpoint } from "tensorjar";
import { freshState, loadDigits, train } from "./model.mjs";

const {
  digits: path,
  until,
  resume,
  coldMoments,
  checkpoint,
  weights,
} = JSON.parse(process.argv[2]);
const config = { seed: 20, hidden: 32, learningRate: 0.01, beta1: 0.9, beta2: 0.999, eps: 1e-8 };

// The gem's .npz holds names without dots, so each way of the mapping is said here; safetensors needs none.
const names = {
  toFile: (treePath) => treePath.replaceAll(".", "__"),
  toTree: (fileName) => fileName.replaceAll("__", "."),
};
const optionsFor = (file) => (file.endsWith(".npz") ? { names } : {});

const state = freshState(config);
if (resume !== undefined) {
  await restoreCheckpoint(resume, state, optionsFor(resume));
  if (coldMoments) state.optimizers = freshState(config).optimizers;
}
const first = state.step;
const losses = train(state, await loadDigits(path), until);
if (checkpoint !== undefined) await saveCheckpoint(checkpoint, state, optionsFor(checkpoint));
await save(weights, state.params);
process.stdout.write(JSON.stringify({ first, losses }));
