// A folder for gigabytes, in TENSORJAR_LARGE where that is set; it goes with the process, however that ends.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const folder = mkdtempSync(
  join(process.env.TENSORJAR_LARGE ?? tmpdir(), "tensorjar-large-"),
);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
