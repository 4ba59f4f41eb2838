/** Runs every code block of the documents as printed, and holds their tables and links to the repository. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { format, stripVTControlCharacters } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  encodeSafetensors,
  load,
  openCheckpoints,
  save,
  tensor,
  zeros,
} from "../../packages/tensorjar/src/index.js";
import { type CaseServer, startCaseServer } from "../case-server.js";
import { type Block, blocksOf, documents } from "../documents.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Blocks that cannot be run, and why; ids as in documents.mjs. */
const notRun: Record<string, string> = {
  "CONTRIBUTING.md 2": "a drawing",
  "interop/README.md 1": "the outline of a suite: the suites beside it are such",
};

/** Blocks that need more than Node, and the test that runs them, by name. */
const elsewhere: Record<string, string> = {
  "docs/checkpoints.md resume_torch.py": "interop/checkpoint.interop.test.ts",
  "docs/checkpoints.md resume_optax.py": "interop/checkpoint.interop.test.ts",
  "docs/checkpoints.md resume_mlx.py": "interop/checkpoint.interop.test.ts",
  "docs/recipes.md read_samples.py": "interop/documents.interop.test.ts",
};

/** Blocks that are also files, which other tests import. */
const files: Record<string, string> = {
  "docs/recipes.md onnxruntime.mjs": "packages/tree/test/recipes/onnxruntime.js",
  "docs/recipes.md ndarray.mjs": "packages/tree/test/recipes/ndarray.js",
  "docs/recipes.md three.mjs": "packages/tree/test/recipes/three.js",
  "docs/recipes.md resume.mjs": "packages/tensorjar/test/recipes/resume.js",
};

/** What the servers that documents name answer with. */
const remote: Record<string, () => Uint8Array> = {
  "https://example.org/model.safetensors": () =>
    encodeSafetensors({ weight: zeros([300_000], "float32") }),
  "https://huggingface.co/openai-community/gpt2/resolve/main/model.safetensors": () =>
    encodeSafetensors({ "wte.weight": zeros([100, 768]), "ln_f.weight": zeros([768]) }),
};

/** Files that a document's reader has. */
const given: Record<string, () => Promise<void>> = {
  "packages/cli/README.md": async () => {
    const numbers = (length: number, f: (i: number) => number): Float32Array =>
      Float32Array.from({ length }, (_, i) => f(i));
    const weight = tensor(
      numbers(8192, (i) => Math.sin(i) ** 3),
      [128, 64],
    );
    const head = { bias: tensor(numbers(64, (i) => i / 64)) };
    const metadata = { author: "me" };
    await save("model.safetensors", { embed: { weight }, head }, { metadata });
    await save("arrays.npz", { weight });
    await save("before.safetensors", { weight });
    await save("after.safetensors", { weight: zeros([128, 64]) });
    await save("lora.safetensors", { weight }, { metadata: { ss_tag: "x" } });
    const checkpoints = openCheckpoints("runs");
    await checkpoints.save({ params: { weight }, optimizers: {}, step: 1 });
    await checkpoints.close();
  },
};

/** What is done with a block that only exports a function, and is not a file of another test. */
const uses: Record<string, (module: Record<string, unknown>) => Promise<void>> = {
  "docs/recipes.md rename-lora.mjs": async ({ renamed }) => {
    if (typeof renamed !== "function") throw new Error("renamed is no function");
    const weight = tensor(Float32Array.of(1, 2, 3));
    const bytes = encodeSafetensors({ weight }, { metadata: { ss_tag: "x" } });
    const { tensors, metadata } = await load(await renamed(new Blob([bytes]), "Sea"));
    expect(tensors.get("weight")).toEqual(weight);
    expect([...metadata]).toEqual([
      ["modelspec.title", "Sea"],
      ["ss_tag", "x"],
    ]);
  },
};

/** Commands that end with another code than 0. */
const exitCodes: Record<string, number> = { diff: 1 };

const servers = new Map<string, CaseServer>();
const realFetch = globalThis.fetch;
let printed: string[] = [];
let shown = "";

beforeAll(async () => {
  for (const [url, bytes] of Object.entries(remote))
    servers.set(url, await startCaseServer(bytes()));
  const picked = encodeSafetensors({ "layers.0.weight": zeros([64, 4]) });
  vi.stubGlobal("input", { files: [new File([picked], "model.safetensors")] }); // as a page may call it
  vi.stubGlobal("fetch", (url: string | URL | Request, init?: RequestInit) => {
    const server = servers.get(String(url));
    if (server === undefined) throw new Error(`no test answers for ${url}`);
    return realFetch(`${server.url}/ok`, init);
  });
});
afterAll(async () => {
  for (const server of servers.values()) await server.close();
  vi.unstubAllGlobals();
});
afterEach(() => {
  printed = [];
});

for (const document of documents()) {
  const blocks = blocksOf(document);
  if (blocks.every(({ id }) => id in notRun)) continue;
  describe(document, () => {
    const before = process.cwd();
    let folder = "";
    beforeAll(async () => {
      // Beside the tests of tree, which have the libraries that documents name.
      const cache = join(root, "packages/tree/.cache");
      await mkdir(cache, { recursive: true });
      folder = await mkdtemp(join(cache, "documents-"));
      process.chdir(folder);
      await given[document]?.();
      vi.spyOn(console, "log").mockImplementation((...args) => void printed.push(format(...args)));
    });
    afterAll(async () => {
      vi.restoreAllMocks();
      process.chdir(before);
      await rm(folder, { recursive: true, force: true });
    });
    for (const block of blocks) {
      const reason = notRun[block.id];
      if (reason === undefined)
        test(block.file ?? `block ${block.id.split(" ").pop()}`, () => run(block, folder));
    }
  });
}

test("the lists name blocks that are there", () => {
  const ids = documents().flatMap((document) => blocksOf(document).map(({ id }) => id));
  for (const list of [notRun, elsewhere, files, uses])
    expect(ids).toEqual(expect.arrayContaining(Object.keys(list)));
});

describe("the README's tables", () => {
  /** The cells of each row of the table under a heading. */
  async function table(heading: string): Promise<string[][]> {
    const readme = await readFile(join(root, "README.md"), "utf8");
    const section = readme.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
    const rows = section.split("\n").filter((line) => line.startsWith("| "));
    return rows.map((row) => row.slice(2, -2).split(" | "));
  }
  const manifest = async (path: string): Promise<Record<string, Record<string, string>>> =>
    JSON.parse(await readFile(join(root, path, "package.json"), "utf8"));

  test("every package is there, with what it installs", async () => {
    const folders = await readdir(join(root, "packages"));
    const installed = async (name: string): Promise<string[]> => {
      const folder = name.replace("@tensorjar/", "");
      if (!folders.includes(folder)) return [name];
      const { dependencies = {} } = await manifest(`packages/${folder}`);
      return [name, ...(await Promise.all(Object.keys(dependencies).map(installed))).flat()];
    };
    const rows = (await table("Packages")).slice(1);
    const names = rows.map(([link = ""]) => /`(.*)`/.exec(link)?.[1] ?? "");
    expect(names.map((name) => name.replace("@tensorjar/", "")).sort()).toEqual(folders.sort());
    for (const [i, [, , cell = ""]] of rows.entries()) {
      const [itself = "", ...brought] = await installed(names[i] ?? "");
      const said = cell === "nothing" ? [] : cell.split(", ");
      const ours = said.map((name) =>
        folders.includes(name) && name !== "tensorjar" ? `@tensorjar/${name}` : name,
      );
      const meant = (await Promise.all(ours.map(installed))).flat();
      expect([...new Set(meant)].sort(), itself).toEqual([...new Set(brought)].sort());
    }
  });

  test("figures are those of bench/RESULTS.md", async () => {
    const results = await readFile(join(root, "bench/RESULTS.md"), "utf8").catch(() => "");
    const rows = (await table("Measured")).slice(1).map((cells) => `| ${cells.join(" | ")} |`);
    expect(rows.filter((row) => !results.includes(row))).toEqual([]);
  });

  test("peers are those that bench installs", async () => {
    const { devDependencies = {} } = await manifest("bench");
    const packages: Record<string, string> = { "TensorFlow.js IO": "@tensorflow/tfjs-core" };
    for (const [cell = ""] of (await table("Beside its peers")).slice(1)) {
      const [, name = "", version] = /^(.*) (\d+\.\d+)$/.exec(cell) ?? [];
      if (version === undefined) continue; // Python, which interop/requirements.txt pins
      const pinned = devDependencies[packages[name] ?? name];
      expect(pinned, cell).toMatch(new RegExp(`^${version.replace(".", "\\.")}\\.`));
    }
  });
});

test("links lead to files that are there", async () => {
  for (const document of documents()) {
    const text = await readFile(join(root, document), "utf8");
    const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
    for (const [, link = ""] of prose.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      expect(existsSync(join(root, document, "..", link)), `${document}: ${link}`).toBe(true);
  }
});

async function run(block: Block, folder: string): Promise<void> {
  const { id, document, language, file, code } = block;
  const same = files[id];
  if (same !== undefined) expect(code).toBe(await readFile(join(root, same), "utf8"));
  const other = elsewhere[id];
  if (other !== undefined) {
    expect(await readFile(join(root, other), "utf8")).toContain(document);
  } else if (language === "js" || language === "ts") {
    const name = file ?? `block-${id.split(" ").pop()}.${language === "ts" ? "ts" : "mjs"}`;
    const path = join(folder, name);
    await writeFile(path, code.replace('"@tensorflow/tfjs"', '"../../test/tfjs.js"'));
    const module = await import(/* @vite-ignore */ pathToFileURL(path).href);
    await uses[id]?.(module);
    expect(notTold(code)).toEqual([]);
  } else if (language === "sh") {
    for (const line of code.trimEnd().split("\n")) await runLine(line.replace(/\s+#.*/, ""));
  } else if (language === "text") {
    expect(`${shown.trimEnd()}\n`).toBe(code); // what the last command before it shows
  } else if (language === "json") {
    expect(JSON.parse(code)).toBeTypeOf("object");
  } else {
    expect.fail(`${id}: nothing here runs ${language || "a block without a language"}`);
  }
}

/** What was printed and does not stand in the block's comments, when it says there what is printed. */
function notTold(code: string): string[] {
  if (!/console\.log\(.*\/\/ /.test(code)) return [];
  const comments = [...code.matchAll(/\/\/ (.*)$/gm)].map(([, text]) => text).join("\n");
  return printed.filter((text) => !comments.includes(text));
}

async function runLine(line: string): Promise<void> {
  const scripts = async (folder: string): Promise<Record<string, string>> =>
    JSON.parse(await readFile(join(root, folder, "package.json"), "utf8")).scripts;
  const [, install] = /^npm install (\S+)$/.exec(line) ?? [];
  const [, script] = /^npm (?:run )?(test|start|[\w:-]+)$/.exec(line) ?? [];
  const [, example] = /^(?:PYTHON=\S+ )?npm --prefix (examples\/\S+) start$/.exec(line) ?? [];
  const [, command] = /^npx @tensorjar\/cli (.+)$/.exec(line) ?? [];
  if (install !== undefined) {
    // Needs the registry; `npm run packages` installs the tarballs in its place.
    expect(documents()).toContain(`packages/${install.replace("@tensorjar/", "")}/README.md`);
  } else if (script !== undefined) {
    expect(Object.keys(await scripts("."))).toContain(script); // CI runs them
  } else if (example !== undefined) {
    expect(await scripts(example)).toMatchObject({
      start: expect.any(String),
      test: expect.any(String), // which CI runs
    });
  } else if (command !== undefined) {
    const { run: cli } = await import("../../packages/cli/src/program.js");
    const args = command.split(/\s+/);
    printed = [];
    expect(await cli(args), line).toBe(exitCodes[args[0] ?? ""] ?? 0);
    shown = stripVTControlCharacters(printed.join("\n"));
  } else {
    expect.fail(`nothing here runs the line ${line}`);
  }
}
