// A checkpoint of 100,000 parameters with Adam is saved by the manager, verified and restored, under the format's limit.
import { deepStrictEqual, ok } from "node:assert";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openCheckpoints, tensor } from "@tensorjar/checkpoint";
import { folderStore } from "@tensorjar/checkpoint/node";
import { parseSafetensorsHeader } from "@tensorjar/safetensors";
import { folder } from "./support/folder.mjs";

const count = 100_000;
const name = (i) => `model.layers.${i}.self_attn.q_proj.weight`;

function state(value, step) {
  const slot = (v) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [name(i), tensor(Float32Array.of(v + i))]),
    );
  const adam = { step, exp_avg: slot(value + 0.25), exp_avg_sq: slot(value + 0.5) };
  return { params: slot(value), optimizers: { adam }, step };
}

const checkpoints = openCheckpoints(folderStore(folder));
const saved = state(1, 7);
const info = await checkpoints.save(saved);
ok(parseSafetensorsHeader(await readFile(join(folder, info.name))).dataOffset < 100_000_000);
await checkpoints.verify();
const live = state(0, 0);
const found = await checkpoints.restore(live);
ok(found?.step === 7 && live.step === 7);
for (let i = 0; i < count; i += 997) {
  deepStrictEqual(live.params[name(i)].data, saved.params[name(i)].data);
  deepStrictEqual(
    live.optimizers.adam.exp_avg_sq[name(i)],
    saved.optimizers.adam.exp_avg_sq[name(i)],
  );
}
await checkpoints.close();
console.log(`${count} parameters with Adam: ${info.size} bytes saved, verified and restored`);
