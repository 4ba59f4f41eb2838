import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { assembled, target } from "../wat.mjs";

test("half-wasm.ts is what half.wat is assembled to", async () => {
  expect(readFileSync(target, "utf8")).toBe(await assembled());
});
