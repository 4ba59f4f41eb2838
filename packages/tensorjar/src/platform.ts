import type { Store } from "@tensorjar/checkpoint";
import { type ByteSource, httpSource, type SinkLike, TensorjarError } from "@tensorjar/core";
import { quote, textWithoutSecrets } from "@tensorjar/core/codec";

/** Opens what a string stands for, where the program runs. */
export type OpenText = (text: string, signal?: AbortSignal) => Promise<ByteSource>;

/** A browser: every string is a URL, resolved as `fetch` does. */
export const openText: OpenText = (text, signal) =>
  httpSource(text, signal === undefined ? {} : { signal });

/** What names the plain file name `file` in the folder of what `text` names. */
export type Beside = (text: string, file: string) => string;

/** A browser: beside the URL that `text` is. Throws `unsupported` for one without folders, such as a `blob:` URL. */
export const beside: Beside = (text, file) => {
  try {
    const { href } = new URL(text, globalThis.document?.baseURI ?? globalThis.location?.href);
    return new URL(encodeURIComponent(file), href).href;
  } catch (cause) {
    const what = `${quote(textWithoutSecrets(text))} has no folder in which ${quote(file)} could lie`;
    const hint = "give the text of the index to openShardedSafetensors";
    throw new TensorjarError("unsupported", what, { path: file, hint }, { cause });
  }
};

function noPaths(path: string, hint: string): TensorjarError {
  const shown = textWithoutSecrets(path);
  return new TensorjarError(
    "unsupported",
    `there are no paths in a browser, such as ${quote(shown)}`,
    { path: shown, hint },
  );
}

/** Reads a file by position: in Node, Bun and Deno; `unsupported` here. */
export async function fileSource(path: string): Promise<ByteSource> {
  throw noPaths(path, "give the File itself, or a URL");
}

/** Writes a file atomically: in Node, Bun and Deno; `unsupported` here. */
export function fileSink(
  path: string,
  _options: { ifExists?: "replace" | "error"; durable?: boolean } = {},
): SinkLike {
  throw noPaths(path, "give a WritableStream, or { store: opfsStore(), name }");
}

/** Keeps checkpoints in a folder: in Node, Bun and Deno; `unsupported` here. */
export function folderStore(path: string): Store {
  throw noPaths(path, "give opfsStore()");
}
