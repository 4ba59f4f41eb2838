// Packs every public package into .cache/tarballs and lists what it packed.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const folder = path(".cache/tarballs");

/** Runs a command and returns its output; a failure shows it and throws. */
export function run(command, args, options = {}) {
  const windows = process.platform === "win32";
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: "utf8",
    shell: windows,
    ...options,
  });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")}: ${error ?? `${stdout}${stderr}`}`);
}

/** Every public package of the workspace with its folder, in alphabetical order. */
export function publicPackages() {
  return readdirSync(path("../packages"))
    .map((name) => path(`../packages/${name}`))
    .map((directory) => ({
      directory,
      ...JSON.parse(readFileSync(`${directory}/package.json`, "utf8")),
    }))
    .filter(({ private: hidden }) => !hidden);
}

/** The tarball of each package by its name, packed anew. */
export function packAll() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const pnpm = path("../node_modules/pnpm/bin/pnpm.cjs");
  const tarballs = new Map();
  for (const { name, version, directory } of publicPackages()) {
    run(process.execPath, [pnpm, "pack", "--pack-destination", folder], { cwd: directory });
    tarballs.set(name, `${folder}/${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
  }
  return tarballs;
}
