// Installs the workspace when the lockfile is newer than what is installed, so that one npm command
// works on a machine that has only Node and npm. Otherwise does nothing, and needs no network.
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const changed = (path) => statSync(new URL(path, root), { throwIfNoEntry: false })?.mtimeMs;
const installed = changed("node_modules/.modules.yaml");

if (installed === undefined || installed < (changed("pnpm-lock.yaml") ?? 0)) {
  const { packageManager } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const args = ["--yes", packageManager, "install", "--frozen-lockfile"];
  // stdout belongs to the command that asked for the set-up: `npm start > report.txt` stays clean.
  const { status, error } = spawnSync("npx", args, {
    cwd: fileURLToPath(root),
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
    env: { ...process.env, CI: "true" },
  });
  if (error) throw error;
  process.exitCode = status ?? 1;
}
