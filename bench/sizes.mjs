// The gzipped sizes that tooling/size.mjs measures, by part of target 21, in kB.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export function gzippedSizes() {
  const { stdout } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL("../tooling/size.mjs", import.meta.url))],
    { encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } },
  );
  const sizes = [...stdout.matchAll(/'([^']+)'\s*│\s*(\d+)\s*│\s*(?:''|\d+)\s*│\s*\d+\s*│/g)];
  return Object.fromEntries(
    sizes.map(([, bundle, bytes]) => [
      `21 ${bundle.replace("everything of tensorjar", "everything")}`,
      bytes / 1000,
    ]),
  );
}
