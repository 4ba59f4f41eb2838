import { readdirSync, readFileSync } from "node:fs";
import * as core from "@tensorjar/core";
import { describe, expect, test } from "vitest";

const packages = new URL("../../packages/", import.meta.url);

/** Who may use whom: nothing points left. */
const uses: Record<string, readonly string[]> = {
  core: [],
  npy: ["core"],
  npz: ["core", "npy"],
  safetensors: ["core"],
  tree: ["core"],
  checkpoint: ["core", "tree", "npz", "safetensors"],
  tensorjar: ["core", "npy", "npz", "safetensors", "tree", "checkpoint"],
  cli: ["core", "tensorjar"],
};
const codecs = ["npy", "npz", "safetensors"];
const conversions = new Set(
  Object.keys(core).filter((name) => /^(to(Float|Nested)|cast$|asFloat16)/.test(name)),
);

interface Import {
  readonly file: string;
  readonly from: string;
  readonly names: readonly string[];
}

describe.each(readdirSync(packages))("%s", (name) => {
  const manifest: {
    dependencies?: Record<string, string>;
    peerDependencies?: Record<string, string>;
  } = JSON.parse(readFileSync(new URL(`${name}/package.json`, packages), "utf8"));
  const imports = importsOf(name);
  const external = imports.filter(({ from }) => !/^(\.|#|node:)/.test(from));

  test("imports exactly the packages that it declares", () => {
    const { dependencies = {}, peerDependencies = {} } = manifest; // peers are optional, and may be typed by structure
    const imported = new Set(
      external.map(({ from }) => /^(@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from),
    );
    const needed = [...imported].filter((each) => !(each in peerDependencies));
    expect(needed.sort()).toEqual(Object.keys(dependencies).sort());
  });

  test("uses only packages to its left", () => {
    const used = external.flatMap(({ from }) => {
      const found = /^@tensorjar\/(\w+)|^tensorjar$/.exec(from);
      return found ? [found[1] ?? "tensorjar"] : [];
    });
    expect(uses[name]).toEqual(expect.arrayContaining(used));
  });

  if (name !== "cli")
    test("touches the platform only in *.node.ts", () => {
      const platform = imports.filter(({ from }) => /^node:|\/node$|\.node\.js$/.test(from));
      expect(platform.map(({ file }) => file).filter((file) => !file.endsWith(".node.ts"))).toEqual(
        [],
      );
    });

  if (codecs.includes(name))
    test("never imports the conversion tables", () => {
      expect(conversions.size).toBeGreaterThan(3);
      const inside = imports.filter(({ file }) => !/(^|\/)index(\.node)?\.ts$/.test(file));
      expect(inside.flatMap(({ names }) => names).filter((each) => conversions.has(each))).toEqual(
        [],
      );
    });
});

function importsOf(name: string): Import[] {
  const root = new URL(`${name}/src/`, packages);
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  return files.flatMap((file) => {
    const text = readFileSync(new URL(file, root), "utf8");
    const statements = text.matchAll(
      /^(?:import|export)\b([^;"']*?)\bfrom\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm,
    );
    return [...statements].map(([, clause = "", from, dynamic]) => ({
      file,
      from: from ?? dynamic ?? "",
      names: clause.match(/\w+/g) ?? [],
    }));
  });
}
