import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { quote } from "@tensorjar/core/codec";
import pc from "picocolors";
import { isTensorjarError, TensorjarError, verifyCheckpoint } from "tensorjar";
import { progressBar } from "./progress.js";
import { type ArrayFile, isCheckpoint, openArrays, shownPath, sourceOf } from "./source.js";
import { countText, errorText, othersText, printable, printJson } from "./text.js";

interface Verdict {
  readonly ok: boolean;
  readonly what?: string;
  readonly code?: string;
  readonly message?: string;
}

/** Reads a file to its last byte, with every checksum it has; a folder: each of its files. Whether all are good. */
export async function verify(
  path: string,
  { json = false }: { json?: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const verdicts: (Verdict & { readonly path: string })[] = [];
  for (const file of await filesOf(path)) {
    const shown = shownPath(file);
    const verdict = { path: shown, ...(await verdictOf(file, signal)) };
    verdicts.push(verdict);
    if (json) continue;
    const { ok, what = "", code = "", message = "" } = verdict;
    console.log(
      ok
        ? `${pc.green("good")}  ${printable(shown)}  ${what}`
        : `${pc.red("bad ")}  ${printable(shown)}  ${code}: ${message}`,
    );
  }
  if (json) printJson(verdicts);
  return verdicts.every(({ ok }) => ok);
}

async function filesOf(path: string): Promise<string[]> {
  const isFolder = await stat(path).then(
    (entry) => entry.isDirectory(),
    () => false, // a URL, or nothing: opening it says so
  );
  if (!isFolder) return [path];
  const names = (await readdir(path))
    .filter((name) => /\.(safetensors|npz|npy)$/i.test(name))
    .sort();
  if (names.length > 0) return names.map((name) => join(path, name));
  throw new TensorjarError(
    "not-found",
    `the folder ${JSON.stringify(path)} has no file of tensors`,
    { path },
  );
}

async function verdictOf(path: string, signal: AbortSignal): Promise<Verdict> {
  try {
    const file = await openArrays(path, signal);
    try {
      const what = isCheckpoint(file)
        ? await verifiedCheckpoint(path, signal)
        : `${file.format}, ${countText(file.names.length, "tensor")}`;
      await readAll(file, isCheckpoint(file) ? [] : file.names);
      return { ok: true, what: what + othersText(file.others) };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    const message = errorText(error);
    const start = `${quote(shownPath(path))}: `; // the line begins with it
    return {
      ok: false,
      code: error.code,
      message: message.startsWith(start) ? message.slice(start.length) : message,
    };
  }
}

async function verifiedCheckpoint(path: string, signal: AbortSignal): Promise<string> {
  const source = await sourceOf(path, signal);
  try {
    const { step, params } = await verifyCheckpoint(source);
    return `checkpoint at step ${step}, ${countText(params.size, "parameter")}`;
  } finally {
    await source.close?.();
  }
}

/** Reads the arrays called `names`, and whatever else an archive holds, to the last byte. */
async function readAll(file: ArrayFile, names: readonly string[]): Promise<void> {
  const bar = progressBar(await totalSize(file));
  try {
    for (const name of names) {
      for await (const chunk of file.chunks(name)) bar.add(chunk.length, name);
    }
    for (const other of file.others) bar.add((await other.bytes()).length, other.name);
  } finally {
    bar.stop();
  }
}

/** Bytes of all content; of an archive by its directory, for a header is worth nothing before its checksum is known. */
async function totalSize(file: ArrayFile): Promise<number> {
  if (file.members !== undefined) return file.members.reduce((sum, { size }) => sum + size, 0);
  let total = 0;
  for (const name of file.names) total += (await file.info(name)).byteLength;
  return total;
}
