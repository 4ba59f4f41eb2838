import { quote } from "@tensorjar/core/codec";
import pc from "picocolors";
import { fileSink, open, TensorjarError, updateSafetensorsMetadata } from "tensorjar";
import { shownPath, sourceOf } from "./source.js";
import { printable, printJson } from "./text.js";

/** Prints the metadata of a file; with changes, rewrites a safetensors file's header and copies its data as it is. */
export async function metadata(
  path: string,
  {
    set = [],
    unset = [],
    json = false,
  }: { set?: readonly [string, string][]; unset?: readonly string[]; json?: boolean },
  signal: AbortSignal,
): Promise<void> {
  if (set.length > 0 || unset.length > 0) {
    if (/^https?:/i.test(path)) {
      throw new TensorjarError(
        "invalid-argument",
        `${quote(shownPath(path))} cannot be written to`,
        {
          hint: "download the file first",
        },
      );
    }
    const source = await sourceOf(path, signal);
    try {
      await updateSafetensorsMetadata(source, fileSink(path), (old) => changed(old, set, unset));
    } finally {
      await source.close?.();
    }
  }
  const file = await open(path);
  await file.close();
  if (json) return printJson(file.metadata);
  for (const [key, value] of file.metadata)
    console.log(`${pc.bold(printable(key) || '""')}: ${printable(value)}`);
  if (file.metadata.size === 0) console.error(`${printable(shownPath(path))} has no metadata`);
}

function changed(
  old: Map<string, string>,
  set: readonly [string, string][],
  unset: readonly string[],
): Map<string, string> {
  if (old.get("format") === "tensorjar-checkpoint") {
    throw new TensorjarError(
      "unsupported",
      "the metadata of a checkpoint is part of its checksum: with other metadata it would count as damaged",
      { hint: "load the checkpoint and save it with another config" },
    );
  }
  const next = new Map(old);
  for (const key of unset) {
    if (!next.delete(key))
      throw new TensorjarError("not-found", `the metadata has no key ${quote(key)}`, {
        name: key,
      });
  }
  for (const [key, value] of set) next.set(key, value);
  return next;
}
