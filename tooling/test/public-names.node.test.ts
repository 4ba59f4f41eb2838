import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const packages = new URL("../../packages/", import.meta.url);
interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, unknown>>;
}

// A name that appears or goes is a decision: `npx vitest run --project node tooling -u` records it.
describe.each(readdirSync(packages))("%s", (folder) => {
  const { name, exports = {} }: Manifest = JSON.parse(
    readFileSync(new URL(`${folder}/package.json`, packages), "utf8"),
  );
  const entries = Object.keys(exports).filter((entry) => entry !== "./package.json");

  test.each(entries)("the public names of %s", async (entry) => {
    const module: object = await import(/* @vite-ignore */ name + entry.slice(1));
    expect(Object.keys(module).sort()).toMatchSnapshot();
  });
});
