import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import {
  decodeNpz,
  encodeNpz,
  type NpyArray,
  type NpzWriteOptions,
  openNpz,
  tensor,
  writeNpz,
} from "@tensorjar/npz";
import { fileSink, fileSource } from "@tensorjar/npz/node";
import { zipSync } from "fflate";
import { describe, expect, test } from "vitest";
import { interop, type Python } from "./python.js";

/** What Python says an array holds. */
interface Saved {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly content: string | readonly string[];
}

const run = promisify(execFile);

/** Whether a program is there; a suite that needs it is skipped by name where it is not, and fails in CI. */
async function has(program: string): Promise<boolean> {
  const there = await run("sh", ["-c", `command -v ${program}`]).then(
    () => true,
    () => false,
  );
  if (!there && process.env["CI"] === "true") throw new Error(`${program} is not installed`);
  return there;
}

const hasZip = await has("zip");
const hasUnzip = await has("unzip");
const has7z = await has("7z");

interop(".npz and Python", "core", (python) => {
  test("archives of np.savez, np.savez_compressed and zipfile hold equal arrays", {
    timeout: 300_000,
  }, async () => {
    await python.run("npz.py", "write");
    const index = await saved(python);
    for (const file of archives) await expectArchive(python.path(`${file}.npz`), index);
    expect(decodeNpz(await readFile(python.path("none.npz"))).size).toBe(0);
    const many = await openNpz(fileSource(python.path("many.npz")));
    expect(many.names).toHaveLength(70_000);
    let next = 0;
    for await (const [name, array] of many.entries()) {
      if (name !== `a${next}` || array.data[0] !== next % 65_536) throw new Error(name);
      next++;
    }
    expect(next).toBe(70_000);
    await many.close();
  });

  test.skipIf(!hasZip)(
    `zip${hasZip ? "" : " (skipped: not installed)"}: its archives hold equal arrays`,
    async () => {
      const index = await plain(python);
      await run("zip", ["-q", "-r", "../zip.npz", "."], { cwd: python.path("folder") });
      await expectArchive(python.path("zip.npz"), index);
      await run("zip", ["-q", "-0", "-r", "../zip0.npz", "."], { cwd: python.path("folder") });
      await expectArchive(python.path("zip0.npz"), index);
      const names = await readdir(python.path("folder"));
      await run("sh", ["-c", 'zip -q - "$@" | cat > ../zipped.npz', "sh", ...names], {
        cwd: python.path("folder"),
      });
      await expectArchive(python.path("zipped.npz"), index);
    },
  );

  test.skipIf(!has7z)(
    `7z${has7z ? "" : " (skipped: not installed)"}: its archives hold equal arrays`,
    async () => {
      const index = await plain(python);
      for (const level of [0, 5, 9]) {
        const file = python.path(`7z${level}.npz`);
        await run("7z", ["a", "-tzip", `-mx=${level}`, file, "."], {
          cwd: python.path("folder"),
        });
        await expectArchive(file, index);
      }
    },
  );

  test("np.load, zipfile and unzip read what we write", { timeout: 300_000 }, async () => {
    const expected: Record<string, unknown> = {};
    const values = ours();
    const ways: [string, NpzWriteOptions][] = [
      ["stored", {}],
      ["deflate", { compression: "deflate" }],
      ["level9", { compression: "deflate", level: 9 }],
      ["gsplat", { profile: "gsplat" }],
      ["aligned", { align: 4096 }],
    ];
    for (const [name, options] of ways) {
      await writeFile(python.path(`ours-${name}.npz`), encodeNpz(values, options));
      await writeNpz(fileSink(python.path(`ours-${name}-sink.npz`)), values, options);
      expected[`ours-${name}.npz`] = expected[`ours-${name}-sink.npz`] = described(values);
    }
    await writeFile(python.path("ours-none.npz"), encodeNpz({}));
    expected["ours-none.npz"] = [];
    const many = new Map<string, NpyArray>();
    for (let i = 0; i < 70_000; i++) many.set(`层/${i}`, tensor(Uint16Array.of(i % 65_536)));
    await writeNpz(fileSink(python.path("ours-many.npz")), many);
    expected["ours-many.npz"] = described(many);
    await writeFile(python.path("ours.json"), JSON.stringify(expected));
    const report = JSON.parse(await python.run("npz.py", "check"));
    expect(report.archives).toBe(12);
    expect(report.members).toBe(10 * values.size + 71);
    expect(report.numpy).toMatch(/^2\./);
    if (!hasUnzip) return;
    for (const file of Object.keys(expected).filter((name) => !/none|many|gsplat/.test(name))) {
      const { stdout } = await run("unzip", ["-t", python.path(file)]);
      expect(stdout).toContain("No errors detected");
    }
  });
});

const archives = [
  "savez",
  "savez_compressed",
  "zipfile",
  "zipfile_deflated",
  "stream",
  "stream_deflated",
  "large_fields",
];

describe(".npz and fflate", () => {
  test("its archives hold equal arrays", () => {
    const values = ours();
    const single = (name: string, array: NpyArray): Uint8Array => {
      const bytes = encodeNpz({ [name]: array }, { align: 1 });
      const [start, end] = [34 + name.length, bytes.length - (46 + 4 + name.length + 22)];
      return bytes.subarray(start, end);
    };
    const members = Object.fromEntries(
      [...values]
        .filter(([name]) => /^\w+$/.test(name))
        .map(([name, array]) => [`${name}.npy`, single(name, array)]),
    );
    for (const level of [0, 6, 9] as const) {
      const decoded = decodeNpz(zipSync(members, { level }));
      expect(decoded.size).toBeGreaterThan(5);
      for (const [name, array] of decoded) {
        const wanted = values.get(name);
        if (wanted === undefined) throw new Error(name);
        expect([array.dtype, array.shape]).toEqual([wanted.dtype, wanted.shape]);
        expect(content(array).toString() === content(wanted).toString()).toBe(true);
      }
    }
  });
});

/** Arrays of many kinds, under names of every script. */
function ours(): Map<string, NpyArray> {
  const noise = Uint8Array.from({ length: 200_000 }, (_, i) => (i * i * 31) >> 3);
  const names = [
    "größe",
    "中文",
    "слой/0",
    "العربية",
    "हिन्दी",
    "ไทย",
    "한국어",
    "ελληνικά",
    "😀",
    " space ",
    "dots.in.it",
    "x.npy",
    "__proto__",
    "constructor",
    "0",
  ];
  return new Map<string, NpyArray>([
    ["float32", tensor(Float32Array.of(1.5, Number.NaN, -0), [3, 1])],
    ["float16", tensor(Uint16Array.of(0x3c00), [1], "float16")],
    ["int64", tensor(BigInt64Array.of(-(2n ** 63n)))],
    ["bool", tensor(Uint8Array.of(1, 0), [2], "bool")],
    ["complex64", tensor(Float32Array.of(1, 2), [1], "complex64")],
    ["scalar", tensor(Float64Array.of(2.5), [])],
    ["empty", tensor(new Float32Array(0), [0, 3])],
    ["noise", tensor(noise)],
    ["zeros", tensor(new Float32Array(100_000))],
    ["strings", { dtype: "string", shape: [2], data: ["größe", "😀"], itemLength: 5 }],
    ...names.map((name, i): [string, NpyArray] => [name, tensor(Int32Array.of(i))]),
  ]);
}

function described(values: ReadonlyMap<string, NpyArray>): unknown[] {
  return [...values].map(([name, array]) => [
    name,
    array.dtype === "string" ? "string" : array.dtype,
    array.shape,
    content(array),
  ]);
}

function content({ data }: NpyArray): string | readonly string[] {
  return Array.isArray(data)
    ? data
    : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("hex");
}

async function saved(python: Python): Promise<Map<string, Saved>> {
  const index: Record<string, Saved> = JSON.parse(
    await readFile(python.path("index.json"), "utf8"),
  );
  return new Map(Object.entries(index));
}

/** Those whose names are file names. */
async function plain(python: Python): Promise<Map<string, Saved>> {
  return new Map([...(await saved(python))].filter(([name]) => !name.includes("/")));
}

async function expectArchive(path: string, index: ReadonlyMap<string, Saved>): Promise<void> {
  const file = await openNpz(fileSource(path));
  for (const arrays of [decodeNpz(await readFile(path)), await file.getAll()]) {
    expect([...arrays.keys()].sort(), path).toEqual([...index.keys()].sort());
    for (const [name, { dtype, shape, content: wanted }] of index) {
      const array = arrays.get(name);
      if (array === undefined) throw new Error(`${path} lacks ${name}`);
      expect([array.dtype, array.shape], `${path}: ${name}`).toEqual([dtype, shape]);
      expect(JSON.stringify(content(array)) === JSON.stringify(wanted), `${path}: ${name}`).toBe(
        true,
      );
    }
  }
  await file.close();
}
