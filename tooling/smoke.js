// One call of each package, on whatever runs it: Node, Bun, Deno, a bundle in a page or in a worker.
import { tensor } from "@tensorjar/core";
import { decodeNpy, encodeNpy } from "@tensorjar/npy";
import { decodeNpz, encodeNpz, openNpz } from "@tensorjar/npz";
import { decodeSafetensors, encodeSafetensors } from "@tensorjar/safetensors";
import { flattenTree } from "@tensorjar/tree";
import { load, memoryStore, openCheckpoints } from "tensorjar";

const weight = tensor(Float32Array.of(1.5, -2, 0.25), [3, 1]);
const arrays = { "layers.0.weight": weight };

/** The name of each round trip with whether it gave the same array back. */
export async function smoke() {
  const archive = encodeNpz(arrays, { compression: "deflate" });
  const file = await openNpz(archive);
  const store = memoryStore();
  const state = { params: { weight }, optimizers: {}, step: 3 };
  const checkpoints = openCheckpoints(store);
  await checkpoints.save(state);
  const restored = {
    params: { weight: tensor(new Float32Array(3), [3, 1]) },
    optimizers: {},
    step: 0,
  };
  await checkpoints.restore(restored);
  await checkpoints.close();
  const safetensors = encodeSafetensors(flattenTree({ layers: [{ weight }] }));
  return {
    npy: same(decodeNpy(encodeNpy(weight))),
    npz: same(decodeNpz(archive).get("layers.0.weight")),
    "npz, opened": same(await file.get("layers.0.weight")),
    safetensors: same(decodeSafetensors(safetensors).tensors.get("layers.0.weight")),
    load: same((await load(new Blob([archive]))).tensors.get("layers.0.weight")),
    checkpoint: restored.step === 3 && same(restored.params.weight),
  };
}

function same({ dtype, shape, data }) {
  return dtype === "float32" && shape.join() === "3,1" && data.join() === "1.5,-2,0.25";
}
