import {
  encodeSafetensors,
  httpSource,
  openSafetensors,
  type Tensor,
  tensor,
} from "@tensorjar/safetensors";
import { expect, test } from "vitest";
import { startCaseServer } from "../../../tooling/case-server.js";

const model = new Map<string, Tensor>();
for (let layer = 0; layer < 100; layer++) {
  const weight = Float32Array.from({ length: 1000 }, (_, i) => layer + i / 1000);
  model.set(`model.layers.${layer}.mlp.up_proj.weight`, tensor(weight, [50, 20]));
  model.set(`model.layers.${layer}.input_layernorm.weight`, tensor(weight.slice(0, 50)));
}
const bytes = encodeSafetensors(model);

test.each(["ok", "norangeheader"])(
  "a model of 200 tensors on a server (%s) is opened and one tensor read with three requests at most",
  async (mode) => {
    const server = await startCaseServer(bytes);
    const file = await openSafetensors(httpSource(`${server.url}/${mode}`));
    expect(file.names.length).toBe(200);
    const name = "model.layers.63.mlp.up_proj.weight";
    expect(await file.get(name)).toEqual(model.get(name));
    const requests = await server.requests();
    expect(requests.length).toBeLessThanOrEqual(3);
    expect(requests.at(-1)?.range).toMatch(/^bytes=\d+-\d+$/);
    await file.close();
    await server.close();
  },
);

test("neighbouring tensors that are read together share a request", async () => {
  const server = await startCaseServer(bytes);
  const file = await openSafetensors(httpSource(`${server.url}/ok`));
  const before = (await server.requests()).length;
  const names = file.names.slice(60, 100);
  const read = await Promise.all(names.map((name) => file.get(name)));
  names.forEach((name, i) => {
    expect(read[i]).toEqual(model.get(name));
  });
  expect((await server.requests()).length).toBe(before + 1);
  await file.close();
  await server.close();
});
