import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import {
  type ErrorCode,
  encodeSafetensors,
  type FacadeSource,
  fileSink,
  fileSource,
  load,
  loadCheckpoint,
  loadInto,
  memoryStore,
  open,
  openCheckpoints,
  restoreCheckpoint,
  save,
  saveCheckpoint,
  tensor,
  writeShardedSafetensors,
  zeros,
} from "../src/index.js";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tensorjar-facade-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const weight = tensor([1, 2, 3], [3], "float32");
const at = (name: string): string => join(folder, name);

test.each(["model.safetensors", "model.npz", "MODEL.NPZ"])(
  "saves and loads %s by its path and its URL",
  async (name) => {
    await save(at(name), { layer: { weight } });
    expect((await load(at(name))).tensors.get("layer.weight")).toEqual(weight);
    expect((await load(pathToFileURL(at(name)))).tensors.get("layer.weight")).toEqual(weight);
    expect((await load(pathToFileURL(at(name)).href)).tensors.get("layer.weight")).toEqual(weight);
    expect((await load(createReadStream(at(name)))).tensors.get("layer.weight")).toEqual(weight);
    const file = await open(at(name));
    expect(await file.get("layer.weight")).toEqual(weight);
    await file.close();
    expect(await readdir(folder)).toEqual([name]);
  },
);

test("a failed save leaves the old file and nothing else", async () => {
  await save(at("a.safetensors"), { weight });
  const before = await readFile(at("a.safetensors"));
  await expectError(() => save(at("a.safetensors"), { step: 3 }), { code: "invalid-argument" });
  await expectError(() => save(at("a.safetensors"), { a: weight, b: weight }));
  await expectError(() => save(at("none/a.safetensors"), { weight }), { code: "not-found" });
  expect((await readFile(at("a.safetensors"))).equals(before)).toBe(true);
  expect(await readdir(folder)).toEqual(["a.safetensors"]);
});

test("a save that is aborted half-way leaves the old file and nothing else", async () => {
  await save(at("a.safetensors"), { weight });
  const before = await readFile(at("a.safetensors"));
  const reason = new Error("enough");
  const controller = new AbortController();
  const large = zeros([20_000_000]);
  const saving = save(
    at("a.safetensors"),
    { large },
    { signal: controller.signal, onProgress: () => controller.abort(reason) },
  );
  await expect(saving).rejects.toBe(reason);
  expect((await readFile(at("a.safetensors"))).equals(before)).toBe(true);
  expect(await readdir(folder)).toEqual(["a.safetensors"]);
});

test("an extension that tells no format, and a URL as a target, are refused", async () => {
  await expectError(() => save(at("a.bin"), { weight }), {
    code: "invalid-argument",
    names: ["a\\.bin", "safetensors"],
  });
  await save(at("a.bin"), { weight }, { format: "safetensors" });
  expect((await load(at("a.bin"))).format).toBe("safetensors");
});

test("a missing file, a folder and a damaged file say what they are", async () => {
  await expectError(() => load(at("none.npz")), { code: "not-found", names: ["none\\.npz"] });
  await mkdir(at("folder"));
  await expectError(() => load(at("folder")), { names: ["folder"] });
  await writeFile(at("bad.safetensors"), new Uint8Array(64).fill(0xff));
  await expectError(() => load(at("bad.safetensors")), { code: "limit-exceeded" });
});

test("an error names its file, which of many may be the one at fault", async () => {
  await writeFile(at("cut.safetensors"), Uint8Array.of(232, 3, 0, 0, 0, 0, 0, 0, 0x7b));
  await save(at("good.safetensors"), { weight });
  const path = JSON.stringify(at("cut.safetensors"));
  const found = "the header ends at byte 1008, the file at 9";
  for (const read of [load, open, loadCheckpoint]) {
    const reading: Promise<unknown> = read(at("cut.safetensors"));
    const error = await expectError(() => reading, { code: "truncated" });
    expect(error.message).toBe(`${path}: ${found}`);
    expect(error.details).toMatchObject({ path: at("cut.safetensors"), offset: 9 });
  }
  const error = await expectError(() => load(at("good.safetensors"), { names: ["bias"] }), {
    code: "not-found",
  });
  expect(error.message).toBe(
    `${JSON.stringify(at("good.safetensors"))}: there is no tensor "bias": there is "weight"`,
  );
  // It is said once, and of bytes there is nothing to say.
  const missing = await expectError(() => load(at("none.npz")), { code: "not-found" });
  expect(missing.message.split("none.npz")).toHaveLength(2);
  const bytes = await readFile(at("cut.safetensors"));
  const nameless = await expectError(() => load(bytes), { code: "truncated" });
  expect(nameless.message).toBe(found);
});

test("the index of a sharded model opens its shards beside it", async () => {
  const tensors = { a: zeros([1000]), b: weight, c: zeros([1000]) };
  await writeShardedSafetensors((file) => fileSink(at(file)), tensors, { maxShardBytes: 5000 });
  const file = await open(at("model.safetensors.index.json"));
  expect([...file.names].sort()).toEqual(["a", "b", "c"]);
  expect(await file.get("b")).toEqual(weight);
  await file.close();
  await rm(at("model-00001-of-00002.safetensors"), { force: true });
  await expectError(() => load(at("model.safetensors.index.json")), { code: "not-found" });
});

test("names that share memory are one tensor again when shards are loaded, and no more than the tree has", async () => {
  await writeShardedSafetensors(
    (file) => fileSink(at(file)),
    { bias: zeros([3]), embed: weight, head: weight },
    { aliases: "metadata", maxShardBytes: weight.data.byteLength },
  );
  const index = at("model.safetensors.index.json");
  const tree = { bias: zeros([3]), embed: zeros([3]), head: zeros([3]) };
  await loadInto(index, tree);
  expect(tree.head).toBe(tree.embed);
  const { unexpected } = await loadInto(index, { bias: zeros([3]), embed: zeros([3]) });
  expect(unexpected).toEqual([]);
});

test("shards lie beside their index, whatever the folder is called and however it is named", async () => {
  const before = process.cwd();
  process.chdir(folder);
  try {
    for (const name of ["plain", "run:1", "data:x", "ab:", "sp ace%41", "#q?", "a\\b"]) {
      await mkdir(name);
      const tensors = { a: zeros([2]), b: weight };
      await writeShardedSafetensors((file) => fileSink(join(name, file)), tensors, {
        maxShardBytes: 16,
      });
      const index = join(name, "model.safetensors.index.json");
      const url = pathToFileURL(index);
      for (const source of [index, at(index), url, url.href, url.href.replace("file://", "file:")])
        expect((await load(source)).tensors.get("b")).toEqual(weight);
    }
  } finally {
    process.chdir(before);
  }
});

test("a URL is read by ranges, and a sharded one from beside its index", async () => {
  const model = encodeSafetensors({ weight, large: zeros([100_000]) });
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.range}`);
    const [, start = 0, end = 0] = (
      /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? "") ?? []
    ).map(Number);
    const body = model.subarray(start, Math.min(end + 1, model.length));
    response
      .writeHead(206, {
        "content-range": `bytes ${start}-${start + body.length - 1}/${model.length}`,
      })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const file = await open(`http://127.0.0.1:${port}/model.safetensors`);
    expect(await file.get("weight")).toEqual(weight);
    await file.close();
    expect(asked.length).toBeLessThanOrEqual(3);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const fresh = (value = 0) => ({
  params: { layer: { weight: tensor([value, value], [2], "float32") } },
  optimizers: {
    adam: {
      step: value,
      exp_avg: { layer: { weight: tensor([value, 0], [2], "float32") } },
      exp_avg_sq: { layer: { weight: tensor([0, value], [2], "float32") } },
    },
  },
  step: value,
});
const names = {
  toFile: (path: string) => path.replaceAll(".", "__"),
  toTree: (name: string) => name.replaceAll("__", "."),
};

test.each([
  ["run.safetensors", {}],
  ["run.npz", { names }],
])("a checkpoint in %s restores the whole state, in its live arrays", async (file, options) => {
  await saveCheckpoint(at(file), { ...fresh(5), config: { rate: 0.1 } }, options);
  const state = fresh();
  const live = state.params.layer.weight.data;
  const snapshot = await restoreCheckpoint(at(file), state, options);
  expect(state).toEqual(fresh(5));
  expect(state.params.layer.weight.data).toBe(live);
  expect(snapshot.config).toEqual({ rate: 0.1 });
  expect((await loadCheckpoint(await readFile(at(file)))).step).toBe(5);
});

test("what is saved is the state at the call, whatever happens to it afterwards", async () => {
  const state = fresh(5);
  const saving = saveCheckpoint(at("run.safetensors"), state);
  state.params.layer.weight.data.fill(99);
  await saving;
  const restored = fresh();
  await restoreCheckpoint(at("run.safetensors"), restored);
  expect(restored).toEqual(fresh(5));
});

test("a failed restore lists every problem and leaves arrays, references and steps as they were", async () => {
  await saveCheckpoint(at("run.safetensors"), fresh(5));
  const state = fresh(1);
  const other = { ...state, params: { layer: { weight: zeros([3]) }, bias: zeros([1]) } };
  const before = structuredClone(other);
  const error = await expectError(() => restoreCheckpoint(at("run.safetensors"), other), {
    code: "tree-mismatch",
  });
  expect(error.details.problems?.map(({ path }) => path)).toEqual(
    expect.arrayContaining(["params.layer.weight", "params.bias"]),
  );
  expect(other).toEqual(before);
});

test("a file of tensors that is no checkpoint is refused as one", async () => {
  await save(at("a.safetensors"), { weight });
  await expectError(() => loadCheckpoint(at("a.safetensors")), { code: "invalid-checkpoint" });
  await writeFile(at("page.safetensors"), "<html>");
  await expectError(() => loadCheckpoint(at("page.safetensors")), {
    code: "not-this-format",
    names: ["HTML"],
  });
});

test("checkpoints are kept in a folder by its path, or in a store", async () => {
  for (const where of [at("runs"), memoryStore()]) {
    const checkpoints = openCheckpoints(where);
    await checkpoints.save(fresh(1));
    await checkpoints.save(fresh(2));
    const state = fresh();
    expect((await checkpoints.restore(state))?.step).toBe(2);
    expect(state).toEqual(fresh(2));
    await checkpoints.close();
  }
  expect(await readdir(at("runs"))).toEqual(
    expect.arrayContaining(["step-000000000001.safetensors", "step-000000000002.safetensors"]),
  );
});

test("a store's name is a target, and its extension tells the format", async () => {
  const store = memoryStore();
  await save({ store, name: "a.npz" }, { weight });
  expect((await load(store.open("a.npz"))).format).toBe("npz");
  await loadInto(store.open("a.npz"), { weight: zeros([3]) });
});

test("a byte source that is given stays open, whatever becomes of it; one behind a promise is closed", async () => {
  await saveCheckpoint(at("run.safetensors"), fresh(5));
  await writeFile(at("noise"), new Uint8Array(100));
  const uses: [(source: FacadeSource) => Promise<unknown>, file: string, code?: ErrorCode][] = [
    [(source) => load(source), "run.safetensors"],
    [(source) => load(source, { names: ["none"] }), "run.safetensors", "not-found"],
    [(source) => loadInto(source, {}, { mode: "partial" }), "run.safetensors"],
    [(source) => loadCheckpoint(source), "run.safetensors"],
    [(source) => restoreCheckpoint(source, fresh()), "run.safetensors"],
    [(source) => open(source), "noise", "not-this-format"],
    [(source) => load(source), "noise", "not-this-format"],
    [(source) => loadCheckpoint(source), "noise", "not-this-format"],
  ];
  for (const [use, file, code] of uses) {
    const counted = async () => {
      const source = await fileSource(at(file));
      const close = vi.fn(async () => source.close?.());
      return { size: source.size, read: source.read, close };
    };
    const run = (source: FacadeSource) =>
      code === undefined ? use(source) : expectError(() => use(source), { code });
    const given = await counted();
    await run(given);
    await run(given);
    expect(given.close).not.toHaveBeenCalled();
    await given.close();
    const promised = await counted();
    await run(Promise.resolve(promised));
    expect(promised.close).toHaveBeenCalled();
  }
  const source = await fileSource(at("run.safetensors"));
  await (await open(source)).close(); // a file that the caller closes takes its source along
  await expectError(() => load(source), { code: "invalid-argument", names: ["closed"] });
});
