// What the next release would publish: applies the waiting changesets to a clone of the last commit, in a temporary
// folder, and prints each package's version, its new changelog entry and the files of its tarball.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { publicPackages, run } from "./pack.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = mkdtempSync(`${tmpdir()}/tensorjar-`);
try {
  run("git", ["clone", "--quiet", root, folder]);
  run(process.execPath, ["tooling/setup.mjs"], { cwd: folder });
  run("npx", ["changeset", "version"], { cwd: folder });
  const clone = await import(`${folder}/tooling/pack.mjs`);
  const before = new Map(publicPackages().map(({ name, version }) => [name, version]));
  const tarballs = clone.packAll();
  for (const { name, version, directory } of clone.publicPackages()) {
    console.log(`\n${name} ${before.get(name)} → ${version}`);
    const changelog = `${directory}/CHANGELOG.md`;
    if (existsSync(changelog)) console.log(newest(readFileSync(changelog, "utf8")));
    const files = run("tar", ["tzf", tarballs.get(name)])
      .trim()
      .split("\n")
      .sort();
    console.log(
      `${files.length} files: ${files.map((file) => file.replace("package/", "")).join(" ")}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function newest(changelog) {
  return changelog.split(/^## /m)[1].split("\n").slice(1).join("\n").trim();
}
