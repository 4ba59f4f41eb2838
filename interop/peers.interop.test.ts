/** Files to and from the JavaScript libraries that read or write them at all; they come with the bench workspace. */
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import {
  encodeNpz,
  encodeSafetensors,
  load,
  ofType,
  save,
  tensor,
  zeros,
} from "../packages/tensorjar/src/index.js";
import { temporaryFolder } from "../tooling/folder.node.js";

const require = createRequire(new URL("../bench/package.json", import.meta.url));
/** A peer, whose own types are not asked: what it gives is looked at. */
// biome-ignore lint/suspicious/noExplicitAny: another library's values, checked by the expectations below
const peer = (name: string): Promise<any> =>
  import(/* @vite-ignore */ pathToFileURL(require.resolve(name).replace(/\.cjs$/, ".js")).href);

const image = tensor(
  Float32Array.from({ length: 6 }, (_, i) => i / 4),
  [2, 3],
);
const ids = tensor([1n, 2n, -3n], [3], "int64");
const { path: at } = temporaryFolder();
beforeAll(async () => {
  await save(at("image.npy"), image);
  await save(at("both.npz"), { image, ids });
  await save(at("both.safetensors"), { image, ids });
});

describe("npyjs", () => {
  test("reads our .npy, and we read its", async () => {
    const { dump, load: read } = await peer("npyjs");
    const file = await readFile(at("image.npy"));
    const array = await read(file.buffer.slice(file.byteOffset, file.byteOffset + file.length));
    expect({ shape: array.shape, data: array.data }).toEqual({ shape: [2, 3], data: image.data });
    const theirs = dump(image.data, [2, 3]);
    await writeFile(at("npyjs.npy"), new Uint8Array(theirs));
    expect((await load(at("npyjs.npy"))).tensors.get("")).toEqual(image);
  });
});

describe("numpy-ts", () => {
  test("reads our .npy and .npz, and we read its", async () => {
    const { array, loadNpy, loadNpzFile, saveNpy } = await peer("numpy-ts/node");
    const read = await loadNpy(at("image.npy"));
    expect([read.shape, read.tolist()]).toEqual([
      [2, 3],
      [
        [0, 0.25, 0.5],
        [0.75, 1, 1.25],
      ],
    ]);
    const archive = await loadNpzFile(at("both.npz"));
    const arrays: Map<string, { tolist(): unknown }> = archive.arrays ?? archive;
    expect(arrays.get("ids")?.tolist()).toEqual([1n, 2n, -3n]);
    await saveNpy(
      at("numpy-ts.npy"),
      array([
        [1, 2],
        [3, 4],
      ]),
    );
    const ours = ofType((await load(at("numpy-ts.npy"))).tensors.get(""), "float64");
    expect([ours.shape, [...ours.data]]).toEqual([
      [2, 2],
      [1, 2, 3, 4],
    ]);
  });
});

describe("@jax-js/loaders", () => {
  test("reads our safetensors", async () => {
    const { safetensors } = await peer("@jax-js/loaders");
    const { tensors } = safetensors.parse(new Uint8Array(await readFile(at("both.safetensors"))));
    expect([...new Float32Array(tensors.image.data.slice().buffer, 0, 6)]).toEqual([...image.data]);
  });
});

describe("@huggingface/hub", () => {
  test("reads the header of our safetensors by ranges", async () => {
    const { parseSafetensorsMetadata } = await peer("@huggingface/hub");
    const file = await readFile(at("both.safetensors"));
    const fetch = async (
      _: unknown,
      { headers }: { headers?: HeadersInit } = {},
    ): Promise<Response> => {
      const [, from = 0, to = file.length] = (
        /bytes=(\d+)-(\d+)/.exec(new Headers(headers).get("range") ?? "") ?? []
      ).map(Number);
      const part = Uint8Array.from(file.subarray(from, Math.min(to + 1, file.length)));
      return new Response(part, {
        status: 206,
        headers: {
          "content-range": `bytes ${from}-${from + part.length - 1}/${file.length}`,
          etag: '"1"',
        },
      });
    };
    const { header } = await parseSafetensorsMetadata({
      repo: "some/model",
      path: "model.safetensors",
      fetch,
    });
    expect(header.image).toMatchObject({ dtype: "F32", shape: [2, 3] });
    expect(header.ids).toMatchObject({ dtype: "I64", shape: [3] });
  });
});

describe("what the README says of them", () => {
  const exact = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;
  const cases = new URL("../cases/npy/", import.meta.url);
  const damaged = (): Uint8Array => {
    const bytes = encodeNpz({ w: tensor(Float32Array.from({ length: 64 }, (_, i) => i)) });
    bytes[200] = (bytes[200] ?? 0) ^ 1; // in the data
    return bytes;
  };

  test("npyjs refuses big-endian files, flags Fortran order, and reads a cut file", async () => {
    const { load: read } = await peer("npyjs");
    const open = async (name: string): Promise<unknown> =>
      read(exact(await readFile(new URL(name, cases))));
    await expect(open("npy-big-endian-float64.npy")).rejects.toThrow("Unsupported dtype");
    const fortran = await open("npy-fortran-float64-2d.npy");
    expect(fortran).toMatchObject({ shape: [3, 4], fortranOrder: true });
    expect(fortran).toMatchObject({ data: expect.objectContaining({ 0: 0, 1: 4, 2: 8 }) });
    const cut = (await readFile(at("image.npy"))).subarray(0, -4);
    expect(await read(exact(cut))).toMatchObject({ shape: [2, 3], data: { length: 5 } });
  });

  test("numpy-ts refuses strings, dates and structs, and checks no CRC-32", async () => {
    const { loadNpy, loadNpzFile } = await peer("numpy-ts/node");
    for (const name of ["string-fortran", "datetime64-day-big-endian", "struct-big-endian"]) {
      const path = fileURLToPath(new URL(`npy-${name}.npy`, cases));
      await expect(loadNpy(path), name).rejects.toThrow();
    }
    await writeFile(at("damaged.npz"), damaged());
    await expect(load(at("damaged.npz"))).rejects.toMatchObject({ code: "checksum-mismatch" });
    await expect(loadNpzFile(at("damaged.npz"))).resolves.toBeDefined();
  });

  test("npyz gives nested arrays, and BigInt a toJSON", async () => {
    expect(Object.hasOwn(BigInt.prototype, "toJSON")).toBe(false);
    try {
      const { loadNpz } = require("npyz");
      expect((await loadNpz(at("both.npz"))).image).toEqual([
        [0, 0.25, 0.5],
        [0.75, 1, 1.25],
      ]);
      expect(Object.hasOwn(BigInt.prototype, "toJSON")).toBe(true);
    } finally {
      Reflect.deleteProperty(BigInt.prototype, "toJSON");
    }
  });

  test("@jax-js/loaders refuses bfloat16 and float8", async () => {
    const { safetensors } = await peer("@jax-js/loaders");
    for (const w of [zeros([2], "bfloat16"), zeros([2], "float8_e4m3fn")]) {
      const bytes = encodeSafetensors({ w });
      expect(() => safetensors.parse(Uint8Array.from(bytes))).toThrow("Unsupported dtype");
    }
  });

  test("fflate's unzipSync checks no CRC-32", async () => {
    const { unzipSync } = await import("fflate");
    expect(Object.keys(unzipSync(damaged()))).toEqual(["w.npy"]);
  });
});
