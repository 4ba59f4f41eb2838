import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("a process that is killed at any moment loses no durable step", {
  timeout: 120_000,
}, async () => {
  const program = fileURLToPath(new URL("../../../fuzz/kill.mjs", import.meta.url));
  const deno = "Deno" in globalThis ? ["run", "-A"] : [];
  const args = [...deno, program, "--kills", "20"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toContain("20 kills");
});
