// Publishes what is not on npm yet, from the publish workflow: with npm's provenance statement, which is refused unless
// each package names the repository that it is built from.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { publicPackages } from "./pack.mjs";

const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
if (!GITHUB_REPOSITORY) throw new Error("only the publish workflow publishes");
const url = `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git`;
for (const { directory } of publicPackages()) {
  const file = `${directory}/package.json`;
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  manifest.repository = { type: "git", url, directory: `packages/${basename(directory)}` };
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
// Its output tells the action which tags there are.
const { status } = spawnSync("npx", ["changeset", "publish"], {
  stdio: "inherit",
  env: { ...process.env, NPM_CONFIG_PROVENANCE: "true" },
});
process.exitCode = status ?? 1;
