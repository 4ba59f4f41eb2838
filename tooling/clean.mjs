// Removes the build output of the package in the current folder, so that a tarball holds nothing stale.
import { rmSync } from "node:fs";

for (const folder of ["dist", ".tsbuild"]) rmSync(folder, { recursive: true, force: true });
