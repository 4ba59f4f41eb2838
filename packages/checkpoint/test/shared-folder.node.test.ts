import type * as Files from "node:fs/promises";
import { rename, rm, writeFile } from "node:fs/promises";
import { folderStore } from "@tensorjar/checkpoint/node";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";

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

const { path } = temporaryFolder();

test("a folder is not empty because another process replaced all of its files while it was listed", async () => {
  await writeFile(path("step-1"), "old");
  other.does = () => rename(path("step-1"), path("step-2"));
  const names: string[] = [];
  for await (const { name } of folderStore(path()).list("step-")) names.push(name);
  expect(names).toEqual(["step-2"]);
  expect(other.does).toBe(undefined);

  other.does = () => rm(path("step-2"));
  for await (const { name } of folderStore(path()).list("step-")) names.push(name);
  expect(names).toEqual(["step-2"]);
});
