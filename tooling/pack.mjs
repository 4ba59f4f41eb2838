// Packs the public packages into .cache/tarballs.
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

/** Where the tarball of each package is, by name, once it is packed. */
export function packed() {
  const file = ({ name, version }) =>
    `${folder}/${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
  return new Map(publicPackages().map((manifest) => [manifest.name, file(manifest)]));
}

/** Packs every package anew; the tarballs by name. */
export function packAll() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const pnpm = path("../node_modules/pnpm/bin/pnpm.cjs");
  for (const { directory } of publicPackages()) {
    run(process.execPath, [pnpm, "pack", "--pack-destination", folder], { cwd: directory });
  }
  return packed();
}
