// The Python of docs/recipes.md, run as printed, each block after the JavaScript that stands before it.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { blocksOf } from "../tooling/documents.mjs";
import { interop } from "./python.js";

const cache = fileURLToPath(new URL(".cache/", import.meta.url));
const blocks = blocksOf("docs/recipes.md");

interop("recipes", "core", (python) => {
  test.each(blocks.filter(({ language }) => language === "python"))("$file", async (block) => {
    await mkdir(cache, { recursive: true });
    const folder = await mkdtemp(join(cache, "recipes-")); // inside the workspace, where its packages are found
    const before = process.cwd();
    try {
      const program = join(folder, "before.mjs");
      await writeFile(program, blocks[blocks.indexOf(block) - 1]?.code ?? "");
      process.chdir(python.path(""));
      await import(/* @vite-ignore */ pathToFileURL(program).href);
      const script = join(folder, "block.py");
      await writeFile(script, block.code);
      const printed = (await python.run(script)).trimEnd().split("\n");
      expect(printed.filter((line) => !block.code.includes(`# ${line}`))).toEqual([]);
    } finally {
      process.chdir(before);
      await rm(folder, { recursive: true });
    }
  });
});
