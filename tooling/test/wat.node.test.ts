import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { assembled } from "../wat.mjs";

test("what the .wat files are assembled to is what the packages hold", async () => {
  const modules = await assembled();
  expect(modules.size).toBe(2);
  for (const [file, text] of modules) expect(readFileSync(file, "utf8")).toBe(text);
});
