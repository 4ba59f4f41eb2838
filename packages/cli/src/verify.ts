import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import pc from "picocolors";
import {
  isTensorjarError,
  type NpyArray,
  type TensorFile,
  TensorjarError,
  verifyCheckpoint,
} from "tensorjar";
import { progressBar } from "./progress.js";
import { openArrays, sourceOf } from "./source.js";
import { countText, printable, printJson } from "./text.js";

interface Verdict {
  readonly path: string;
  readonly ok: boolean;
  readonly what?: string;
  readonly code?: string;
  readonly message?: string;
}

/** Reads a file to its last byte, with every checksum it has; a folder: each of its files. Whether all are good. */
export async function verify(path: string, { json = false }: { json?: boolean }): Promise<boolean> {
  const verdicts: Verdict[] = [];
  for (const file of await filesOf(path)) {
    const verdict = await verdictOf(file);
    verdicts.push(verdict);
    if (json) continue;
    const { ok, what = "", code = "", message = "" } = verdict;
    console.log(
      ok
        ? `${pc.green("good")}  ${printable(file)}  ${what}`
        : `${pc.red("bad ")}  ${printable(file)}  ${code}: ${message}`,
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

async function verdictOf(path: string): Promise<Verdict> {
  try {
    const file = await openArrays(path);
    try {
      if (isCheckpoint(file)) return { path, ok: true, what: await verifiedCheckpoint(path) };
      await readAll(file);
      return { path, ok: true, what: `${file.format}, ${countText(file.names.length, "tensor")}` };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    return { path, ok: false, code: error.code, message: error.message };
  }
}

function isCheckpoint(file: TensorFile<NpyArray>): boolean {
  return (
    file.metadata.get("format") === "tensorjar-checkpoint" ||
    file.names.includes("checkpoint_version")
  );
}

async function verifiedCheckpoint(path: string): Promise<string> {
  const source = await sourceOf(path);
  try {
    const { step, params } = await verifyCheckpoint(source);
    return `checkpoint at step ${step}, ${countText(params.size, "parameter")}`;
  } finally {
    await source.close?.();
  }
}

async function readAll(file: TensorFile<NpyArray>): Promise<void> {
  let total = 0;
  for (const name of file.names) total += (await file.info(name)).byteLength;
  const bar = progressBar(total);
  try {
    for (const name of file.names) {
      for await (const chunk of file.chunks(name)) bar.add(chunk.length, name);
    }
  } finally {
    bar.stop();
  }
}
