import { EventEmitter } from "node:events";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { zipSync } from "fflate";
import {
  decodeNpz,
  encodeNpy,
  encodeNpz,
  encodeSafetensors,
  load,
  openCheckpoints,
  save,
  saveCheckpoint,
  tensor,
  zeros,
} from "tensorjar";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { outliveReader } from "../src/closed-pipe.js";
import { interruptible } from "../src/interrupt.js";
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

test("what is wrong with a file is told with its path, and that once", async () => {
  await save(at("a.safetensors"), model());
  await writeFile(at("b.safetensors"), Uint8Array.of(232, 3, 0, 0, 0, 0, 0, 0, 0x7b));
  const found = "the header ends at byte 1008, the file at 9";
  expect(await run(["diff", at("a.safetensors"), at("b.safetensors")])).toBe(1);
  expect(err.join("\n")).toContain(`${JSON.stringify(at("b.safetensors"))}: ${found}`);
  expect(await run(["verify", at("b.safetensors")])).toBe(1);
  expect(text()).toBe(`bad   ${at("b.safetensors")}  truncated: ${found}`);
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

test("inspect lists arrays beside one of objects, and says why that one cannot be read", async () => {
  const objects = encodeNpy(tensor(new Float64Array(1)));
  const header = Buffer.from(objects.buffer, objects.byteOffset, objects.length);
  header.write("|O8'", header.indexOf("<f8'"), "latin1");
  await writeFile(
    at("a.npz"),
    zipSync({ "o.npy": objects, "x.npy": encodeNpy(tensor(new Float32Array(2))) }),
  );
  expect(await run(["inspect", at("a.npz")])).toBe(0);
  expect(text()).toMatch(/x +float32 +\[2\] +8 B/);
  expect(text()).toMatch(/cannot be read\n {2}o: .*object/);
  out = [];
  expect(await run(["inspect", at("a.npz"), "--json"])).toBe(0);
  expect(parsed()).toMatchObject({ tensors: [{ name: "x" }], unreadable: [{ name: "o" }] });
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

test("convert keeps the shape of an array without elements in every container", async () => {
  for (const shape of [[0], [2, 0, 3], [0, 4]]) {
    const array = zeros(shape, "int16");
    await writeFile(at("a.npy"), encodeNpy(array));
    for (const [from, to] of [
      ["a.npy", "b.npy"],
      ["b.npy", "c.npz"],
      ["c.npz", "d.npy"],
      ["d.npy", "e.safetensors"],
      ["e.safetensors", "f.npy"],
    ] as const) {
      expect(await run(["convert", at(from), at(to)]), err.join()).toBe(0);
    }
    expect(new Uint8Array(await readFile(at("f.npy")))).toEqual(encodeNpy(array));
  }
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

test("--drop-metadata leaves it out of any container, --deflate is refused where nothing deflates", async () => {
  await save(at("a.safetensors"), { x: zeros([2]) }, { metadata: { author: "me" } });
  expect(await run(["convert", at("a.safetensors"), at("b.safetensors"), "--drop-metadata"])).toBe(
    0,
  );
  expect((await load(at("b.safetensors"))).metadata.size).toBe(0);
  for (const name of ["c.safetensors", "c.npy"])
    expect(await run(["convert", at("b.safetensors"), at(name), "--deflate"])).toBe(2);
  expect((await readdir(folder)).sort()).toEqual(["a.safetensors", "b.safetensors"]);
});

test("diff names metadata that differs, which does not count", async () => {
  const metadata = { author: "me" };
  await save(at("a.safetensors"), { x: zeros([2]) }, { metadata: { ...metadata, old: "1" } });
  await save(at("b.safetensors"), { x: zeros([2]) }, { metadata: { ...metadata, new: "1" } });
  expect(await run(["diff", at("a.safetensors"), at("b.safetensors")])).toBe(0);
  expect(text()).toMatch(/equal +1 tensor\nmetadata, .*: new, old$/);
  out = [];
  expect(await run(["diff", at("a.safetensors"), at("b.safetensors"), "--json"])).toBe(0);
  expect(parsed()).toEqual({ equal: true, differences: [], metadata: ["new", "old"] });
  out = [];
  expect(await run(["diff", at("a.safetensors"), at("a.safetensors"), "--json"])).toBe(0);
  expect(parsed()).toEqual({ equal: true, differences: [] });
});

test("metadata says on the error stream that there is none, and takes no empty key", async () => {
  await save(at("a.npy"), zeros([2]));
  expect(await run(["metadata", at("a.npy")])).toBe(0);
  expect(out).toEqual([]);
  expect(err.join("\n")).toMatch(/a\.npy has no metadata/);
  await save(at("a.safetensors"), { x: zeros([2]) });
  expect(await run(["metadata", at("a.safetensors"), "--set", "=1"])).toBe(2);
});

test("inspect shows the metrics of a checkpoint", async () => {
  const metrics = { loss: 0.5, best: Number.NaN };
  await saveCheckpoint(at("a.safetensors"), { params: {}, optimizers: {}, step: 1, metrics });
  expect(await run(["inspect", at("a.safetensors")])).toBe(0);
  expect(text()).toMatch(/metrics: .*loss 0\.5/);
  expect(text()).toMatch(/metrics: .*best NaN/);
});

test("help tells the exit codes, and what each argument is", async () => {
  const written = vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  expect(await run(["--help"])).toBe(0);
  expect(written.mock.calls.join("")).toMatch(/1 a difference or a bad file/);
  for (const command of ["inspect", "convert", "diff", "verify", "metadata"]) {
    written.mockClear();
    expect(await run([command, "--help"])).toBe(0);
    expect(written.mock.calls.join("")).toMatch(/Arguments:\s.* path/);
    expect(written.mock.calls.join("")).not.toContain("[]");
  }
});

test("no error tells someone at a shell to call a function", async () => {
  const { half } = model();
  await save(at("half.safetensors"), { half });
  await save(at("a.npz"), { x: zeros([2]) });
  await writeFile(at("long.safetensors"), [encodeSafetensors({ half }), Buffer.alloc(6)]);
  await saveCheckpoint(at("run.safetensors"), { params: { half }, optimizers: {}, step: 1 });
  const damaged = await readFile(at("run.safetensors"));
  damaged[damaged.length - 1] = 77;
  await writeFile(at("run.safetensors"), damaged);
  const lines = async (...args: string[]): Promise<string> => {
    [out, err] = [[], []];
    expect(await run(args)).toBeGreaterThan(0);
    return [text(), ...err].join("\n");
  };
  const convert = ["convert", at("half.safetensors"), at("b.npz"), "--drop-metadata"];
  expect(await lines(...convert)).toMatch(
    /bfloat16 has no name in \.npy: convert to \.safetensors$/,
  );
  expect(await lines("metadata", at("a.npz"), "--set", "a=b")).toMatch(/not a safetensors file$/);
  expect(await lines("verify", at("long.safetensors"))).toMatch(
    /6 bytes too many: .*, the file at \d+$/,
  );
  expect(await lines("verify", at("run.safetensors"))).toMatch(/states \w+: the file is damaged$/);
  expect(await lines("inspect", at("none.npy"))).toMatch(/no such file or folder$/);
  expect(await lines("inspect", "http://127.0.0.1:1/a.npy")).toMatch(
    /the address and the network$/,
  );
});

test.skipIf(process.platform === "win32")("what is no file is to be saved to one", async () => {
  expect(await run(["inspect", "/dev/null"])).toBe(1);
  expect(err.join("\n")).toMatch(/save it to a file, and name that$/);
});

test("an interrupted command takes back what it wrote, and rejects with the reason", async () => {
  await save(at("a.safetensors"), { x: zeros([64, 64]) });
  await save(at("a.npz"), { x: zeros([64, 64]) });
  const before = (await readdir(folder)).sort();
  const stop = AbortSignal.abort("stop");
  for (const name of ["a.safetensors", "a.npz"])
    for (const args of [
      ["convert", at(name), at("b.safetensors"), "--drop-metadata"],
      ["convert", at(name), at("b.npz"), "--drop-metadata"],
      ["convert", at(name), at("b.npy"), "--drop-metadata"],
      ["diff", at(name), at(name)],
      ["verify", at(name)],
      ["inspect", at(name), "--stats"],
    ])
      await expect(run(args, stop), args.join(" ")).rejects.toBe("stop");
  const change = ["metadata", at("a.safetensors"), "--set", "a=b"];
  await expect(run(change, stop)).rejects.toBe("stop");
  expect((await readdir(folder)).sort()).toEqual(before);
  expect((await load(at("a.safetensors"))).metadata.has("a")).toBe(false);
});

test("a signal is obeyed when the work has ended, a second one at once", async () => {
  const kill = vi.fn(() => true);
  const target = Object.assign(new EventEmitter(), { kill, pid: 7 });
  const work = interruptible(
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
    target,
  );
  expect(target.listenerCount("SIGTERM")).toBe(1);
  target.emit("SIGINT", "SIGINT");
  expect(kill).not.toHaveBeenCalled();
  expect(["SIGINT", "SIGTERM"].map((name) => target.listenerCount(name))).toEqual([0, 0]);
  expect(await work).toBe(1);
  expect(kill.mock.calls).toEqual([[7, "SIGINT"]]);

  const failure = new Error("failed");
  await expect(interruptible(() => Promise.reject(failure), target)).rejects.toBe(failure);
  expect(await interruptible(async () => 2, target)).toBe(2);
  expect(target.listenerCount("SIGINT")).toBe(0);
  expect(kill).toHaveBeenCalledTimes(1);
});

test("a signal ends work that does not heed it after two seconds", async () => {
  vi.useFakeTimers();
  try {
    const kill = vi.fn(() => true);
    const target = Object.assign(new EventEmitter(), { kill, pid: 7 });
    void interruptible(() => new Promise(() => {}), target);
    target.emit("SIGTERM", "SIGTERM");
    await vi.advanceTimersByTimeAsync(1_900);
    expect(kill).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(200);
    expect(kill.mock.calls).toEqual([[7, "SIGTERM"]]);
    const obedient = interruptible(async (signal) => {
      while (!signal.aborted) await undefined;
      return 0;
    }, target);
    target.emit("SIGINT", "SIGINT");
    expect(await obedient).toBe(0);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(kill.mock.calls).toEqual([
      [7, "SIGTERM"],
      [7, "SIGINT"],
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test("a long table keeps its columns and says its head once", async () => {
  const names = Array.from({ length: 250 }, (_, i) => (i === 120 ? "层.weight" : `t${i}`));
  await save(at("a.npz"), Object.fromEntries(names.map((name, i) => [name, zeros([i])])));
  expect(await run(["inspect", at("a.npz")])).toBe(0);
  const lines = text().split("\n").slice(2);
  expect(lines).toHaveLength(251);
  const [head = "", ...rows] = lines;
  expect(head).toBe("name       dtype    shape  bytes");
  for (const row of rows)
    expect(row.replace("层", "wi")).toMatch(/^\S+ +float32 {2}\[\d+\] +\d+ B$/);
  const columns = rows.map((row) => row.replace("层", "wi").indexOf("float32"));
  expect(new Set(columns)).toEqual(new Set([head.indexOf("dtype")]));
  expect(new Set(rows.map((row) => row.replace("层", "wi").length))).toEqual(
    new Set([head.length]),
  );
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

/** The members of an archive, stored, as they are: any name, any content. */
async function writeZip(name: string, members: Record<string, Uint8Array>): Promise<void> {
  await writeFile(at(name), zipSync(members, { level: 0 }));
}

const bytesOf = (content: string): Uint8Array => new TextEncoder().encode(content);
const numbers = (...values: number[]): Uint8Array =>
  encodeNpy(tensor(Float32Array.from(values), [values.length]));

/** Changes one byte of the only place in a file where `sought` stands before the directory, and no checksum. */
async function damage(name: string, sought: string): Promise<void> {
  const bytes = await readFile(at(name));
  const found = bytes.indexOf(sought, 0, "latin1");
  expect(found).toBeGreaterThan(0);
  bytes[found] = (bytes[found] ?? 0) ^ 1;
  await writeFile(at(name), bytes);
}

describe("an .npz whose members are not all called .npy", () => {
  const members = () => ({
    "readme.txt": bytesOf("read this"),
    "x.npy": numbers(1, 2),
    weights: numbers(3, 4, 5),
    "__MACOSX/._x.npy": bytesOf("\0\x05\x16\x07"),
  });

  test("is inspected whole", async () => {
    await writeZip("a.npz", members());
    expect(await run(["inspect", at("a.npz"), "--stats"])).toBe(0);
    expect(text()).toMatch(/npz, 2 tensors, 20 B/);
    expect(text()).toMatch(/weights +float32 +\[3\] +12 B +3 +5/);
    expect(text()).toMatch(/no arrays\n +readme\.txt: 9 B\n +__MACOSX\/\._x\.npy/);
    out = [];
    expect(await run(["inspect", at("a.npz"), "--json"])).toBe(0);
    expect(parsed()).toMatchObject({
      tensors: [{ name: "x" }, { name: "weights" }],
      others: [{ name: "readme.txt", size: 9 }, { name: "__MACOSX/._x.npy" }],
    });
  });

  test("is verified to the last member", async () => {
    await writeZip("a.npz", members());
    expect(await run(["verify", at("a.npz")])).toBe(0);
    expect(text()).toMatch(/2 tensors, 2 other members/);
    for (const [sought, member] of [
      ["read this", "readme\\.txt"],
      ["(3,), }", "weights"],
      ["@@\0\0\x80@\0\0\xa0@".slice(1), "weights"],
      ["\0\x05\x16\x07", "_x\\.npy"],
    ] as const) {
      await writeZip("b.npz", members());
      await damage("b.npz", sought);
      out = [];
      expect(await run(["verify", at("b.npz")])).toBe(1);
      expect(text()).toMatch(new RegExp(`checksum-mismatch: .*${member}`));
    }
  });

  test("is converted with every array, and not without the rest unless that is asked for", async () => {
    await writeZip("a.npz", members());
    for (const target of ["b.npz", "b.safetensors"]) {
      err = [];
      expect(await run(["convert", at("a.npz"), at(target)])).toBe(1);
      expect(err.join()).toMatch(/readme\.txt.*--drop-members/);
      expect(await run(["convert", at("a.npz"), at(target), "--drop-members"])).toBe(0);
      const { tensors } = await load(at(target));
      expect([...tensors.keys()].sort()).toEqual(["weights", "x"]);
      expect(tensors.get("weights")).toEqual(tensor(Float32Array.of(3, 4, 5)));
    }
    await writeZip("one.npz", { weights: numbers(3, 4, 5) });
    expect(await run(["convert", at("one.npz"), at("one.npy")])).toBe(0);
    expect((await readFile(at("one.npy"))).equals(numbers(3, 4, 5))).toBe(true);
  });

  test("differs in any of its members", async () => {
    await writeZip("a.npz", members());
    expect(await run(["diff", at("a.npz"), at("a.npz")])).toBe(0);
    expect(text()).toMatch(/equal +2 tensors, 2 other members/);
    await writeZip("b.npz", {
      ...members(),
      weights: numbers(3, 4, 6),
      "readme.txt": bytesOf("read that"),
      "more.txt": bytesOf("more"),
      "__MACOSX/._x.npy": numbers(1),
    });
    out = [];
    expect(await run(["diff", at("a.npz"), at("b.npz"), "--json"])).toBe(1);
    expect(parsed()).toEqual({
      equal: false,
      differences: [
        { name: "__MACOSX/._x", kind: "dtype", a: "no array [4]", b: "float32 [1]" },
        { name: "more.txt", kind: "only in B", b: "no array [4]" },
        { name: "weights", kind: "values", count: 1, maxAbs: 1, nans: 0 },
        { name: "readme.txt", kind: "values" },
      ],
    });
  });

  test("that is a checkpoint is verified with what it holds beside it", async () => {
    const state = { params: { w: zeros([2]) }, optimizers: {}, step: 3 };
    await saveCheckpoint(at("run.npz"), state);
    const arrays = decodeNpz(await readFile(at("run.npz")));
    const all = [...arrays].map(([name, array]) => [`${name}.npy`, encodeNpy(array)]);
    const others = { "notes.txt": bytesOf("my notes") };
    await writeZip("run.npz", { ...Object.fromEntries(all), ...others });
    expect(await run(["verify", at("run.npz")])).toBe(0);
    expect(text()).toContain("checkpoint at step 3, 1 parameter, 1 other member");
    await damage("run.npz", "my notes");
    out = [];
    expect(await run(["verify", at("run.npz")])).toBe(1);
    expect(text()).toMatch(/checksum-mismatch: .*notes/);
  });
});

test("strings and structs are compared too", async () => {
  const words = (last: string, itemLength = 3): Uint8Array =>
    encodeNpz({ words: { dtype: "string", shape: [2], data: ["a", last], itemLength } });
  await writeFile(at("a.npz"), words("b"));
  for (const [other, code] of [
    [words("b"), 0],
    [words("c"), 1],
    [words("b", 4), 1],
  ] as const) {
    await writeFile(at("b.npz"), other);
    expect(await run(["diff", at("a.npz"), at("b.npz")])).toBe(code);
  }
});

test("a damaged header within an .npz is told by its checksum, in any member", async () => {
  await writeFile(at("a.npz"), encodeNpz({ x: zeros([2]), y: zeros([3]) }));
  await damage("a.npz", "'descr': '<f4', 'fortran_order': False, 'shape': (3,)");
  expect(await run(["verify", at("a.npz")])).toBe(1);
  expect(text()).toMatch(/checksum-mismatch: .*y/);
});

test("what is printed of a URL holds no password and no signature", async () => {
  const url = "http://user:word@127.0.0.1:1/a.npz?X-Amz-Signature=abc";
  for (const command of ["inspect", "verify", "metadata"]) {
    expect(await run([command, url])).toBe(1);
    expect(await run([command, url, "--json"])).toBe(1);
  }
  expect(await run(["convert", url, at("b.npz")])).toBe(1);
  expect(await run(["convert", at("b.npz"), url])).toBeGreaterThan(0);
  expect(await run(["metadata", url, "--set", "a=b"])).toBe(2);
  const printed = [...out, ...err].join("\n");
  expect(printed).toContain("127.0.0.1");
  expect(printed).not.toMatch(/word@|abc/);
});
