/** The conformance files of `cases/`, readable from Node and from a page that Vitest serves. */

/** What every manifest entry has; each suite adds the fields of its own folder. */
export interface Case {
  readonly id: string;
  readonly file?: string | null;
  readonly title: string;
  readonly expect: "ok" | "error";
  readonly error?: ExpectedError;
}

/** How an error case describes the error: acceptable codes, and patterns that the message must match. */
export interface ExpectedError {
  readonly code?: string | readonly string[];
  readonly names?: readonly string[];
}

export interface Cases<C extends Case = Case> {
  readonly cases: readonly C[];
  /** The bytes of one file of the folder. */
  read(file: string): Promise<Uint8Array<ArrayBuffer>>;
}

// In two steps, because bundlers rewrite `new URL("…", import.meta.url)`.
const here = import.meta.url;
const root = new URL("../cases/", here);

/** Loads the manifest of one folder of `cases/`; `C` is the form its entries have. */
export async function loadCases<C extends Case = Case>(
  folder: string,
  manifest = "cases.json",
): Promise<Cases<C>> {
  const read = (file: string) => readBytes(new URL(`${folder}/${file}`, root));
  const cases: readonly C[] = JSON.parse(new TextDecoder().decode(await read(manifest)));
  return { cases, read };
}

async function readBytes(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  if (url.protocol === "file:") {
    const { readFile } = await nodeFiles();
    return new Uint8Array(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname}: status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

function nodeFiles(): Promise<typeof import("node:fs/promises")> {
  const name = "node:fs/promises"; // in a variable, so that the browser's bundler does not follow it
  return import(/* @vite-ignore */ name);
}
