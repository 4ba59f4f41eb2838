import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileSink } from "@tensorjar/core/node";
import { afterAll, describe, expect, test } from "vitest";
import { expectError, sameBytes } from "../../../tooling/testing.js";
import { pattern } from "./pattern.js";

/** A disk of 2 MiB in memory, where this process may mount one. */
function mountSmallDisk(): string | undefined {
  const folder = fs.mkdtempSync(join(tmpdir(), "tensorjar-full-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], { stdio: "ignore" });
    return folder;
  } catch {
    fs.rmdirSync(folder);
    return undefined;
  }
}

const disk = mountSmallDisk();

describe.skipIf(disk === undefined)("a full disk (needs leave to mount one)", () => {
  const folder = disk ?? "";
  const path = join(folder, "model");
  const old = pattern(500_000);

  afterAll(() => {
    execFileSync("umount", [folder]);
    fs.rmdirSync(folder);
  });

  test("gives io, keeps the old file and leaves no litter", async () => {
    fs.writeFileSync(path, old);
    for (const chunk of [new Uint8Array(8 << 20), new Uint8Array(100_000)]) {
      const sink = fileSink(path);
      const writeAll = async (): Promise<void> => {
        for (let written = 0; written < 8 << 20; written += chunk.length) await sink.write(chunk);
        await sink.close();
      };
      const error = await expectError(writeAll, { code: "io", names: ["model", "disk is full"] });
      expect(error.details.errno).toBe("ENOSPC");
      expect(fs.readdirSync(folder)).toEqual(["model"]);
      expect(sameBytes(new Uint8Array(fs.readFileSync(path)), old)).toBe(true);
      await sink.abort();
    }
  });

  test("is no obstacle to a save that fits", async () => {
    const now = pattern(1_400_000);
    const sink = fileSink(path);
    await sink.write(now);
    await sink.close();
    expect(sameBytes(new Uint8Array(fs.readFileSync(path)), now)).toBe(true);
    expect(fs.readdirSync(folder)).toEqual(["model"]);
  });
});
