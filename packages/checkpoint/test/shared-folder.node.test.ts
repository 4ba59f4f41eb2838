import type * as Files from "node:fs/promises";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folderStore } from "@tensorjar/checkpoint/node";
import { expect, test, vi } from "vitest";

/** What another process does once, between the names of a folder being read and the files being looked up. */
const other = vi.hoisted(() => ({ does: undefined as (() => Promise<void>) | undefined }));

vi.mock("node:fs/promises", async (original) => {
  const real: typeof Files = await original();
  return {
    ...real,
    stat: async (...args: unknown[]): Promise<unknown> => {
      const { does } = other;
      other.does = undefined;
      await does?.();
      return Reflect.apply(real.stat, undefined, args);
    },
  };
});

test("a folder is not empty because another process replaced all of its files while it was listed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tensorjar-shared-"));
  await writeFile(join(folder, "step-1"), "old");
  other.does = () => rename(join(folder, "step-1"), join(folder, "step-2"));
  const names: string[] = [];
  for await (const { name } of folderStore(folder).list("step-")) names.push(name);
  expect(names).toEqual(["step-2"]);
  expect(other.does).toBe(undefined);

  other.does = () => rm(join(folder, "step-2"));
  for await (const { name } of folderStore(folder).list("step-")) names.push(name);
  expect(names).toEqual(["step-2"]);
  await rm(folder, { recursive: true });
});
