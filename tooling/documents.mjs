// The code blocks of the documents, for those who run them as printed.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/**
 * A fenced block. `id` is its document and the name that the block gives itself (`file=adamw.mjs`), or its number there.
 * @typedef {{ id: string, document: string, language: string, file: string | undefined, code: string }} Block
 */

/** Paths of every document that has code for readers. */
export function documents() {
  const readmes = (folder) =>
    readdirSync(`${root}${folder}`, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${folder}/${name}/README.md`);
  return [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "cases/README.md",
    "interop/README.md",
    "examples/README.md",
    ...readdirSync(`${root}docs`).map((name) => `docs/${name}`),
    ...readmes("packages"),
    ...readmes("examples"),
  ];
}

/**
 * The blocks of one document, in its order.
 * @param {string} document
 * @returns {Block[]}
 */
export function blocksOf(document) {
  const text = readFileSync(`${root}${document}`, "utf8");
  const fences = [...text.matchAll(/^```(\w*)(?: file=(\S+))?\n([\s\S]*?)^```$/gm)];
  if (fences.length * 2 !== (text.match(/^\s*```/gm)?.length ?? 0))
    throw new Error(`${document}: a code block is not closed, or indented`);
  return fences.map(([, language, file, code], i) => ({
    id: `${document} ${file ?? i + 1}`,
    document,
    language,
    file,
    code,
  }));
}
