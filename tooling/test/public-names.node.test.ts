import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const packages = new URL("../../packages/", import.meta.url);
interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, unknown>>;
}

// A name that appears or goes is a decision: `npx vitest run --project node tooling -u` records it.
const entries = readdirSync(packages).flatMap((folder) => {
  const { name, exports = {} }: Manifest = JSON.parse(
    readFileSync(new URL(`${folder}/package.json`, packages), "utf8"),
  );
  const paths = Object.keys(exports).filter((path) => path !== "./package.json");
  return paths.map((path) => name + path.slice(1));
});

test.each(entries)("the public names of %s", async (entry) => {
  const module: object = await import(/* @vite-ignore */ entry);
  expect(Object.keys(module).sort()).toMatchSnapshot();
});
