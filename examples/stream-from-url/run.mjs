// Take one layer out of a sharded model on a server, and nothing else.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileSink, open, tensor, writeShardedSafetensors } from "tensorjar";
import { serveFolder } from "./server.mjs";

const folder = await mkdtemp(join(tmpdir(), "stream-from-url-"));
const server = await serveFolder(folder);
try {
  // A model of 12 layers in four shards, as a hub has it.
  const layer = (i) =>
    tensor(
      Float32Array.from({ length: 256 * 1024 }, (_, j) => Math.sin(i + j)),
      [256, 1024],
    );
  const model = Object.fromEntries(
    Array.from({ length: 12 }, (_, i) => [`layers.${i}.weight`, layer(i)]),
  );
  await writeShardedSafetensors((file) => fileSink(join(folder, file)), model, {
    maxShardBytes: 3_200_000,
  });

  const file = await open(`${server.url}/model.safetensors.index.json`);
  const weight = await file.get("layers.7.weight");
  await file.close();

  assert.deepEqual(weight, layer(7));
  const { byteLength } = weight.data;
  console.log(
    `layers.7.weight: ${weight.dtype} [${weight.shape}], ${byteLength} bytes of a model of ${12 * byteLength}`,
  );
  console.log(`${server.sent.requests} requests, ${server.sent.bytes} bytes sent`);
  assert.ok(server.sent.bytes < 2 * byteLength, "more than one layer was sent");
} finally {
  server.close();
  await rm(folder, { recursive: true, force: true });
}
