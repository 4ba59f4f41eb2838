// A process that trains and saves until it is killed; run by ../kill.mjs. Prints what it restored and what is durable.
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import {
  isTensorjarError,
  keepLatest,
  npzCheckpoint,
  openCheckpoints,
  safetensorsCheckpoint,
  tensor,
} from "@tensorjar/checkpoint";
import { folderStore } from "@tensorjar/checkpoint/node";

const [folder, extension, saves] = process.argv.slice(2);
const elements = 1 << 17;

/** A state in which every element tells the step, so that no mixture of two goes unnoticed. */
function fill(state, step) {
  state.params.a.data.fill(step);
  state.params.b.data.fill(step + 0.5);
  state.optimizers.adam.exp_avg.a.data.fill(-step);
  state.optimizers.adam.exp_avg_sq.a.data.fill(step * step);
  state.optimizers.adam.step = { a: step };
  state.step = step;
}

function newState() {
  const array = () => tensor(new Float32Array(elements));
  const adam = { step: { a: 0 }, exp_avg: { a: array() }, exp_avg_sq: { a: array() } };
  return { params: { a: array(), b: array() }, optimizers: { adam }, step: 0 };
}

function check(state) {
  const expected = newState();
  fill(expected, state.step);
  const arrays = ({ params, optimizers: { adam } }) => [
    params.a,
    params.b,
    adam.exp_avg.a,
    adam.exp_avg_sq.a,
  ];
  const same = arrays(state).every(({ data }, i) =>
    data.every((x, j) => x === arrays(expected)[i].data[j]),
  );
  if (!same || state.optimizers.adam.step.a !== state.step)
    throw new Error(`a mixture at step ${state.step}`);
}

/** A store that notices when two processes write at once. */
function watched(store) {
  const marker = `${folder}.writing`;
  const own = `${marker}-${process.pid}`; // the marker appears with its text: a kill must not leave an empty one
  return {
    ...store,
    async put(...args) {
      writeFileSync(own, String(process.pid));
      try {
        linkSync(own, marker);
      } catch {
        const other = Number(readFileSync(marker, "utf8"));
        if (isAlive(other)) throw new Error(`process ${other} writes at the same time`);
        renameSync(own, marker);
      }
      try {
        return await store.put(...args);
      } finally {
        rmSync(marker);
      }
    },
  };
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const checkpoints = openCheckpoints(watched(folderStore(folder)), {
  keep: keepLatest(2),
  format: extension === ".npz" ? npzCheckpoint : safetensorsCheckpoint,
});
const state = newState();

async function restore() {
  const restored = await checkpoints.restore(state);
  if (restored !== undefined) check(state);
  if (restored?.skipped.length > 0) {
    throw new Error(`passed over ${restored.skipped[0].error.message}`);
  }
}

await restore();
console.log(`restored ${state.step}`);
for (let saved = 0; saved < Number(saves); ) {
  fill(state, state.step + 1);
  try {
    await checkpoints.save(state);
  } catch (error) {
    if (!isTensorjarError(error, "locked")) throw error;
    await setTimeout(5); // another one is the writer
    await restore();
    continue;
  }
  console.log(`durable ${state.step}`);
  if (saved++ > 0) continue;
  const litter = readdirSync(folder).filter((name) => name.endsWith(".tmp"));
  if (litter.length > 0 && extension !== "shared") throw new Error(`litter: ${litter.join(", ")}`);
}
await checkpoints.close();
