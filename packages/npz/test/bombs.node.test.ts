import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { deflateRawSync } from "node:zlib";
import { build } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { fields, type MadeMember, makeZip, npyMember } from "./zip-maker.js";

const MiB = 2 ** 20;
const zeros = new Uint8Array(64 * MiB);
const squeezed = deflateRawSync(zeros, { level: 9 });
const deflated = { name: "bomb.npy", raw: squeezed, method: 8 };
const zip64 = (size: number) => fields([2, 1], [2, 8], [8, size]);
const overlapping: MadeMember[] = Array.from({ length: 1000 }, (_, i) => ({
  ...npyMember(`m${i}.npy`),
  size: 40_000,
  compressedSize: 40_000,
}));

const bombs: Record<string, { bytes: Uint8Array; code: string; options?: object }> = {
  "10 kB that declare 10 GiB": {
    bytes: makeZip([
      {
        ...deflated,
        raw: squeezed.subarray(0, 10_000),
        size: 0xffffffff,
        extra: zip64(10 * 2 ** 30),
      },
    ]),
    code: "limit-exceeded",
  },
  "a stored member that declares 10 GiB": {
    bytes: makeZip([
      {
        ...npyMember("x.npy"),
        size: 0xffffffff,
        compressedSize: 0xffffffff,
        extra: fields([2, 1], [2, 16], [8, 1e10], [8, 1e10]),
      },
    ]),
    code: "invalid-archive",
  },
  "overlapping members": { bytes: makeZip(overlapping), code: "invalid-archive" },
  "64 MiB of zeros that declare 128 bytes": {
    bytes: makeZip([{ ...deflated, size: 128 }]),
    code: "checksum-mismatch",
  },
  "64 MiB of zeros against a limit of 1 MiB": {
    bytes: makeZip([{ ...deflated, size: zeros.length }]),
    code: "limit-exceeded",
    options: { maxInflatedBytes: MiB },
  },
  "members that together pass a limit of 1 MiB": {
    bytes: makeZip(
      Array.from({ length: 64 }, (_, i) => ({
        ...npyMember(`m${i}.npy`, new Array<number>(8000).fill(0)),
      })),
    ),
    code: "limit-exceeded",
    options: { maxInflatedBytes: MiB },
  },
  "a directory that counts 4 billion entries": {
    bytes: makeZip([npyMember("x.npy")], { zip64: { count: 2 ** 32 }, count: 0xffff }),
    code: "invalid-archive",
  },
};

describe("archives made to exhaust memory", () => {
  const { path } = temporaryFolder();
  beforeAll(async () => {
    await build({
      entryPoints: [fileURLToPath(new URL("../src/index.ts", import.meta.url))],
      outfile: path("npz.mjs"),
      bundle: true,
      format: "esm",
      platform: "node",
      conditions: ["tensorjar-source", "node"],
    });
    await writeFile(
      path("run.mjs"),
      `import { readFileSync } from "node:fs";
      import { decodeNpz, openNpz } from "./npz.mjs";
      const [file, options] = process.argv.slice(2);
      const codes = [];
      if (file) for (const read of [(b, o) => decodeNpz(b, o), async (b, o) => (await openNpz(b, o)).getAll()]) {
        try { await read(new Uint8Array(readFileSync(file)), JSON.parse(options)); codes.push("read"); }
        catch (error) { codes.push(error.code); }
      }
      console.log(JSON.stringify({ codes, peak: process.resourceUsage().maxRSS * 1024 }));`,
    );
  });

  const run = async (...args: string[]): Promise<{ codes: string[]; peak: number }> => {
    const { stdout } = await promisify(execFile)(process.execPath, [path("run.mjs"), ...args]);
    return JSON.parse(stdout);
  };

  test("are refused with at most 64 MiB over bare Node", { timeout: 60_000 }, async () => {
    const bare = await run();
    for (const [what, { bytes, code, options = {} }] of Object.entries(bombs)) {
      const file = path("bomb.npz");
      await writeFile(file, bytes);
      const { codes, peak } = await run(file, JSON.stringify(options));
      expect(codes, what).toEqual([code, code]);
      expect(peak - bare.peak, what).toBeLessThanOrEqual(64 * MiB);
    }
  });
});
