// Packs every package, lints the tarball, installs it alone with npm in an empty folder, compares what arrives with
// the table below, imports and requires it, and runs one call.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { packAll, run } from "./pack.mjs";

// What these bring along.
const npz = ["@tensorjar/core", "@tensorjar/npy", "fflate"];
const checkpoint = [...npz, "@tensorjar/npz", "@tensorjar/safetensors", "@tensorjar/tree"];
const facade = ["@tensorjar/checkpoint", ...checkpoint];

/** What each package brings along, and one expression that must hold with its exports in `x`. */
const table = {
  "@tensorjar/core": { brings: [], call: "x.tensor([1, 2]).dtype === 'float64'" },
  "@tensorjar/npy": {
    brings: ["@tensorjar/core"],
    call: "x.decodeNpy(x.encodeNpy(x.tensor(Float32Array.of(7)))).data[0] === 7",
  },
  "@tensorjar/npz": {
    brings: npz,
    call: "x.decodeNpz(x.encodeNpz({ a: x.tensor(Float32Array.of(7)) }, { compression: 'deflate' })).get('a').data[0] === 7",
  },
  "@tensorjar/safetensors": {
    brings: ["@tensorjar/core"],
    call: "x.decodeSafetensors(x.encodeSafetensors({ a: x.tensor(Float32Array.of(7)) })).tensors.get('a').data[0] === 7",
  },
  "@tensorjar/tree": {
    brings: ["@tensorjar/core"],
    call: "[...x.flattenTree({ a: [Float32Array.of(7)] }).keys()][0] === 'a.0'",
  },
  "@tensorjar/checkpoint": {
    brings: checkpoint,
    call: "x.takeSnapshot({ params: { a: Float32Array.of(7) }, optimizers: {}, step: 3 }).step === 3",
  },
  tensorjar: {
    brings: facade,
    call: "(await x.load(x.encodeSafetensors({ a: x.tensor(Float32Array.of(7)) }))).tensors.get('a').data[0] === 7",
  },
  "@tensorjar/cli": {
    brings: ["tensorjar", ...facade, "cli-progress", "cli-table3", "commander", "picocolors"],
    // what the terminal libraries are made of
    beneath: [
      "@colors/colors",
      "ansi-regex",
      "emoji-regex",
      "is-fullwidth-code-point",
      "string-width",
      "strip-ansi",
    ],
    program: `import { execFileSync } from "node:child_process";
if (!/inspect/.test(execFileSync("npx", ["--no-install", "tensorjar", "--help"], { encoding: "utf8" }))) throw new Error("no help");`,
  },
};

const tarballs = packAll();
const bin = (name) => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url));
let failed = false;
for (const [name, tarball] of tarballs) {
  const problems = [];
  const attempt = (what, action) => {
    try {
      action();
    } catch (error) {
      problems.push(`${what}: ${error.message}`);
    }
  };
  attempt("publint", () => run(bin("publint"), ["run", tarball, "--strict"]));
  attempt("attw", () => run(bin("attw"), [tarball, "--profile", "esm-only", "--no-color"]));
  attempt("install", () => installAlone(name, tarball));
  console.log(
    `${name}: ${problems.join("\n") || `alone with ${table[name].brings.join(", ") || "nothing"}`}`,
  );
  failed ||= problems.length > 0;
}
process.exitCode = failed ? 1 : 0;

function installAlone(name, tarball) {
  if (!table[name]) throw new Error("not in the table of this script");
  const { brings, beneath = [], program = callOf(name) } = table[name];
  const folder = mkdtempSync(`${tmpdir()}/tensorjar-`);
  try {
    const others = [...tarballs].filter(([other]) => other !== name);
    const project = {
      private: true,
      type: "module",
      dependencies: { [name]: `file:${tarball}` },
      overrides: Object.fromEntries(others.map(([other, file]) => [other, `file:${file}`])),
    };
    writeFileSync(`${folder}/package.json`, JSON.stringify(project));
    run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder });
    const arrived = installed(`${folder}/node_modules`).filter(
      (other) => other !== name && !beneath.includes(other),
    );
    if (arrived.join() !== [...brings].sort().join())
      throw new Error(`brought ${arrived.join(", ")}`);
    writeFileSync(`${folder}/call.js`, program);
    run(process.execPath, ["--disable-warning=ExperimentalWarning", "call.js"], { cwd: folder });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function callOf(name) {
  return `import { createRequire } from "node:module";
import * as x from "${name}";
if (!(${table[name].call})) throw new Error("the call gave something else");
if (!Object.hasOwn(createRequire(import.meta.url)("${name}"), Object.keys(x)[0])) throw new Error("require() differs");`;
}

function installed(folder) {
  return readdirSync(folder)
    .filter((entry) => !entry.startsWith("."))
    .flatMap((entry) =>
      entry.startsWith("@")
        ? readdirSync(`${folder}/${entry}`).map((name) => `${entry}/${name}`)
        : [entry],
    )
    .sort();
}
