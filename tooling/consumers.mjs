// Compiles the programs of consumers/, the TypeScript of the documents and a comparison with contract/tensorjar.d.ts
// against the built declarations, with every supported TypeScript and both ways of resolving modules; the programs also
// as those for Node alone are compiled, without the types of the DOM.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { blocksOf, documents } from "./documents.mjs";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const contract = readFileSync(path("contract/tensorjar.d.ts"), "utf8");
/** What is more than the contract has, by name, with how. */
const wider = JSON.parse(readFileSync(path("contract/differences.json"), "utf8"));

/** Names of `@tensorjar/x/node`, by package: the facade has them at its root. */
const nodeNames = {
  "@tensorjar/core": ["fileSource", "fileSink"],
  "@tensorjar/checkpoint": ["folderStore"],
};
/** Names that stand in another package's section of the contract, because a codec uses them first. */
const namesOfCore = ["isTensor", "Chunks", "Named"];
/** Type arguments for the generic types that have no defaults. */
const typeArguments = { TensorOf: '<"float32">', Named: "<number>", LeafAdapter: "<object>" };

const declaration = /export (?:(function|class|const|interface|type) )(\w+)(?:: \w+, (\w+):)?/g;

function sections() {
  const found = new Map();
  for (const section of contract.split(/^\/\/ -+ /m).slice(1)) {
    const name = /^[@\w/-]+/.exec(section)[0];
    const names = new Map();
    for (const [, kind, first, second] of section.matchAll(declaration)) {
      for (const each of [first, second]) {
        if (each) names.set(each, ["function", "const"].includes(kind) ? "value" : "type");
      }
    }
    found.set(name, names);
  }
  const coreNames = found.get("@tensorjar/core");
  for (const names of found.values()) {
    for (const name of namesOfCore)
      if (names.delete(name)) coreNames.set(name, name === "isTensor" ? "value" : "type");
  }
  found.set("tensorjar", new Map([...found.values()].flatMap((names) => [...names])));
  return found;
}

function check(name, kind) {
  const query = kind === "value" ? "typeof " : "";
  const args = typeArguments[name] ?? "";
  const test = name in wider ? "Fits" : "Same";
  return `export const ${name}: ${test}<${query}actual.${name}${args}, ${query}contract.${name}${args}> = true;\n`;
}

const helpers = `type Fits<A, C> = [A] extends [C] ? true : "ours does not fit the contract";
type Same<A, C> = [C] extends [A] ? Fits<A, C> : "the contract does not fit ours";
`;

function writeChecks() {
  const folder = path(".cache/contract/");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let checks = 0;
  const write = (module, names) => {
    if (names.length === 0) return;
    checks += names.length;
    const file = `${module.replace(/[@/]+/g, "_")}.ts`;
    const imports = `import type * as actual from "${module}";\nimport type * as contract from "../../contract/tensorjar.js";\n`;
    const body = names.map(([name, kind]) => check(name, kind)).join("");
    writeFileSync(`${folder}${file}`, imports + helpers + body);
  };
  for (const [module, names] of sections()) {
    const inNode = nodeNames[module] ?? [];
    write(
      module,
      [...names].filter(([name]) => !inNode.includes(name)),
    );
    write(
      `${module}/node`,
      [...names].filter(([name]) => inNode.includes(name)),
    );
  }
  return checks;
}

/** The TypeScript of the packages' documents, as printed: one program a block. */
function writeDocuments() {
  const folder = path(".cache/documents/");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const blocks = documents()
    .filter((document) => document.startsWith("packages/"))
    .flatMap(blocksOf)
    .filter(({ language }) => language === "ts");
  for (const { id, code } of blocks) writeFileSync(`${folder}${id.replace(/\W+/g, "-")}.ts`, code);
  return blocks.length;
}

/** Puts the name that is compared there beside a line of a check. */
function named(place, file, line) {
  const text = readFileSync(path(`.cache/contract/${file}`), "utf8").split("\n")[line - 1];
  return `${place} ${/export const (\w+)/.exec(text)?.[1] ?? ""}`;
}

const checks = writeChecks();
const programs = writeDocuments();
console.log(`${checks} names compared with the contract; ${programs} blocks of documents`);
let failed = false;
for (const compiler of ["typescript-5.5", "typescript-5.9", "typescript-6", "typescript"]) {
  for (const resolution of ["nodenext", "bundler", "node-alone"]) {
    const tsc = path(`../node_modules/${compiler}/bin/tsc`);
    const project = path(`consumers/tsconfig.${resolution}.json`);
    const { stdout, status } = spawnSync(process.execPath, [tsc, "-p", project], {
      encoding: "utf8",
    });
    console.log(`${compiler} ${resolution}: ${status === 0 ? "ok" : "failed"}`);
    if (status !== 0) {
      console.log(stdout.replace(/contract\/(\w+\.ts)\((\d+),\d+\)/g, named));
      failed = true;
    }
  }
}
process.exitCode = failed ? 1 : 0;
