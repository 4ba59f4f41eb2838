import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepLatest, openCheckpoints, tensor } from "@tensorjar/checkpoint";
import { folderStore } from "@tensorjar/checkpoint/node";
import { afterAll, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";

const folder = mkdtempSync(join(tmpdir(), "tensorjar-full-"));
const mounted =
  process.platform === "linux" &&
  spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).status === 0;

afterAll(() => {
  if (mounted) spawnSync("umount", [folder]);
  rmSync(folder, { recursive: true });
});

test.skipIf(!mounted)(
  "a full disk (needs the right to mount one) fails the save, keeps what is there and leaves no litter",
  async () => {
    const state = (step: number, kilobytes: number) => ({
      params: { w: tensor(new Uint8Array(kilobytes << 10).fill(step)) },
      optimizers: {},
      step,
    });
    const checkpoints = openCheckpoints(folderStore(folder), { keep: keepLatest(2) });
    await checkpoints.save(state(1, 200));
    await checkpoints.save(state(2, 200));
    const before = (await readdir(folder)).sort();
    for (const kilobytes of [700, 2000]) {
      const error = await expectError(() => checkpoints.save(state(3, kilobytes)), {
        code: "io",
        names: ["ENOSPC"],
      });
      expect(error.details.errno).toBe("ENOSPC");
      expect((await readdir(folder)).sort()).toEqual(before);
    }
    writeFileSync(join(folder, "filler"), new Uint8Array(500 << 10));
    await expectError(() => checkpoints.save(state(3, 200)), { code: "io" });
    const live = state(0, 200);
    expect(await checkpoints.restore(live)).toMatchObject({ step: 2, skipped: [] });
    expect(live.params.w.data.every((x) => x === 2)).toBe(true);
    await rm(join(folder, "filler"));
    await checkpoints.save(state(4, 200));
    await checkpoints.close();
    expect((await readdir(folder)).sort()).toEqual(
      [2, 4].map((n) => `step-00000000000${n}.safetensors`),
    );
  },
);
