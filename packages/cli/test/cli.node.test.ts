import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { encodeNpz, load, openCheckpoints, save, tensor, zeros } from "tensorjar";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { outliveReader } from "../src/closed-pipe.js";
import { run } from "../src/program.js";

let folder = "";
let out: string[] = [];
let err: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tensorjar-cli-"));
  out = [];
  err = [];
  vi.spyOn(console, "log").mockImplementation((text = "") => void out.push(String(text)));
  vi.spyOn(console, "error").mockImplementation((text = "") => void err.push(String(text)));
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    err.push(String(text));
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const at = (name: string): string => join(folder, name);
const text = (): string =>
  out.join("\n").replace(new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g"), "");
const parsed = (): unknown => JSON.parse(out.join("\n"));

const model = () => ({
  weight: tensor(
    [
      [1, -2, 3],
      [Number.NaN, 5, Number.POSITIVE_INFINITY],
    ],
    undefined,
    "float32",
  ),
  ids: tensor([1n, 9007199254740993n], [2], "int64"),
  half: tensor([0.5, 1.5], [2], "bfloat16"),
});

test("inspect lists every tensor with its dtype, shape and bytes, and the metadata", async () => {
  await save(at("a.safetensors"), model(), { metadata: { author: "me\u001b[31m" } });
  expect(await run(["inspect", at("a.safetensors")])).toBe(0);
  expect(text()).toMatch(/safetensors, 3 tensors, 44 B/);
  expect(text()).toMatch(/weight +float32 +\[2, 3\] +24 B/);
  expect(text()).toContain("author: me\\u{1b}[31m");
});

test("inspect --stats reads the numbers, exactly for 64-bit integers", async () => {
  await save(at("a.safetensors"), model());
  expect(await run(["inspect", at("a.safetensors"), "--stats", "--json"])).toBe(0);
  expect(parsed()).toMatchObject({
    format: "safetensors",
    tensors: expect.arrayContaining([
      expect.objectContaining({
        name: "weight",
        statistics: expect.objectContaining({
          min: -2,
          max: 5,
          mean: 1.75,
          nans: 1,
          infinities: 1,
        }),
      }),
      expect.objectContaining({
        name: "ids",
        statistics: expect.objectContaining({ max: "9007199254740993" }),
      }),
      expect.objectContaining({
        name: "half",
        statistics: expect.objectContaining({ min: 0.5, max: 1.5 }),
      }),
    ]),
  });
  out = [];
  expect(await run(["inspect", at("a.safetensors"), "--stats"])).toBe(0);
  expect(text()).toMatch(/weight .* -2 +5 +1\.75 +1/);
});

test("inspect and verify know a checkpoint", async () => {
  const checkpoints = openCheckpoints(at("runs"));
  await checkpoints.save({
    params: { w: zeros([2]) },
    optimizers: {},
    step: 7,
    config: { rate: 0.1 },
  });
  await checkpoints.close();
  const file = join(at("runs"), "step-000000000007.safetensors");
  expect(await run(["inspect", file])).toBe(0);
  expect(text()).toMatch(/checkpoint version 1, step 7/);
  expect(text()).toContain('{"rate":0.1}');
  expect(await run(["verify", at("runs")])).toBe(0);

  const bytes = await readFile(file);
  bytes[bytes.length - 1] = 1;
  await writeFile(file, bytes);
  out = [];
  expect(await run(["verify", at("runs"), "--json"])).toBe(1);
  expect(parsed()).toMatchObject([{ ok: false, code: "checksum-mismatch" }]);
});

test("convert goes through all containers and keeps every bit", async () => {
  await save(at("a.safetensors"), { weight: model().weight, ids: model().ids });
  expect(
    await run(["convert", at("a.safetensors"), at("b.npz"), "--deflate", "--drop-metadata"]),
  ).toBe(0);
  expect(await run(["convert", at("b.npz"), at("c.safetensors")])).toBe(0);
  expect(await run(["diff", at("a.safetensors"), at("c.safetensors")])).toBe(0);
  expect((await load(at("c.safetensors"))).tensors).toEqual(
    (await load(at("a.safetensors"))).tensors,
  );

  await save(at("one.npz"), { weight: model().weight });
  expect(await run(["convert", at("one.npz"), at("one.npy")])).toBe(0);
  expect((await load(at("one.npy"))).tensors.get("")).toEqual(model().weight);
});

test("convert refuses by name what the target cannot hold, and leaves nothing", async () => {
  await save(at("a.safetensors"), model(), { metadata: { author: "me" } });
  expect(await run(["convert", at("a.safetensors"), at("b.npz")])).toBe(1);
  expect(err.join("\n")).toContain("author");
  err = [];
  expect(await run(["convert", at("a.safetensors"), at("b.npz"), "--drop-metadata"])).toBe(1);
  expect(err.join("\n")).toContain("bfloat16");
  await writeFile(
    at("words.npz"),
    encodeNpz({ words: { dtype: "string", shape: [1], data: ["hi"], itemLength: 2 } }),
  );
  err = [];
  expect(await run(["convert", at("words.npz"), at("b.safetensors")])).toBe(1);
  expect(err.join("\n")).toContain("words");
  expect((await readdir(folder)).sort()).toEqual(["a.safetensors", "words.npz"]);
});

test("diff names what is missing, what has another form, and how far numbers differ", async () => {
  await save(at("a.safetensors"), {
    x: tensor([1, 2, Number.NaN], [3], "float32"),
    y: zeros([2]),
    only: zeros([1]),
    n: zeros([1]),
  });
  await save(at("b.safetensors"), {
    x: tensor([1, 2.5, 1], [3], "float32"),
    y: zeros([3]),
    n: zeros([1], "int32"),
  });
  expect(await run(["diff", at("a.safetensors"), at("b.safetensors"), "--json"])).toBe(1);
  expect(parsed()).toEqual({
    equal: false,
    differences: expect.arrayContaining([
      { name: "only", kind: "only in A", a: "float32 [1]" },
      { name: "y", kind: "shape", a: "float32 [2]", b: "float32 [3]" },
      { name: "n", kind: "dtype", a: "float32 [1]", b: "int32 [1]" },
      { name: "x", kind: "values", count: 2, maxAbs: 0.5, nans: 1 },
    ]),
  });
  out = [];
  expect(await run(["diff", at("a.safetensors"), at("b.safetensors")])).toBe(1);
  expect(text()).toMatch(/x +values/);
});

test("metadata is read, set and removed without touching a tensor", async () => {
  await save(at("a.safetensors"), model(), { metadata: { author: "me", old: "x" } });
  expect(
    await run([
      "metadata",
      at("a.safetensors"),
      "--set",
      "author=you=me",
      "--unset",
      "old",
      "--json",
    ]),
  ).toBe(0);
  expect(parsed()).toEqual({ author: "you=me", format: "tensorjar-tree" });
  expect((await load(at("a.safetensors"))).tensors.get("weight")).toEqual(model().weight);
  expect(await run(["metadata", at("a.safetensors"), "--unset", "none"])).toBe(1);
});

test("a bad file exits 1 and says why, wrong use exits 2", async () => {
  await save(at("a.safetensors"), model());
  await truncate(at("a.safetensors"), 100);
  expect(await run(["verify", at("a.safetensors")])).toBe(1);
  expect(text()).toContain("truncated");
  expect(await run(["inspect", at("none.npz")])).toBe(1);
  expect(err.join("\n")).toContain("not-found");
  expect(await run(["inspect"])).toBe(2);
  expect(await run(["melt", "x"])).toBe(2);
  expect(await run(["convert", at("a.safetensors"), at("b.txt")])).toBe(2);
  expect(await run(["metadata", at("a.safetensors"), "--set", "novalue"])).toBe(2);
  expect(await run(["--help"])).toBe(0);
});

test("an unnamed array is called arr_0 in an .npz, as np.savez does", async () => {
  await save(at("one.npy"), model().weight);
  expect(await run(["convert", at("one.npy"), at("one.npz")])).toBe(0);
  expect((await load(at("one.npz"))).tensors).toEqual(new Map([["arr_0", model().weight]]));
  expect(text()).toContain("1 tensor, 24 B");
  expect(await run(["convert", at("one.npz"), at("two.npy")])).toBe(0);
  expect(await readFile(at("two.npy"))).toEqual(await readFile(at("one.npy")));
});

test("metadata leaves a checkpoint alone, whose checksum would not fit any more", async () => {
  const checkpoints = openCheckpoints(folder);
  const { name } = await checkpoints.save({ params: { w: zeros([2]) }, optimizers: {}, step: 3 });
  await checkpoints.close();
  const before = await readFile(at(name));
  expect(await run(["metadata", at(name), "--set", "author=me"])).toBe(1);
  expect(err.join("\n")).toContain("checksum");
  expect(await readFile(at(name))).toEqual(before);
  expect(await run(["metadata", "https://a.b/c.safetensors", "--set", "a=b"])).toBe(2);
});

test("prints its version", async () => {
  const { version } = JSON.parse(
    await readFile(new URL("../package.json", import.meta.url), "utf8"),
  );
  const written = vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  expect(await run(["--version"])).toBe(0);
  expect(written.mock.calls.join()).toContain(version);
});

test("a reader that has gone stops nothing; any other failure of the output does", () => {
  const output = new PassThrough();
  outliveReader(output);
  const failure = (code: string) => Object.assign(new Error(code), { code });
  output.emit("error", failure("EPIPE"));
  expect(() => output.emit("error", failure("ENOSPC"))).toThrow("ENOSPC");
});
