import { type ReadOptions, type Tensor, type TensorFile, TensorjarError } from "@tensorjar/core";
import { describe } from "@tensorjar/core/codec";
import { openTensors } from "./formats.js";
import { type FacadeSource, isOurs, sourcePath, toFacadeSource, withPath } from "./source.js";

export interface LoadFileOptions extends ReadOptions {
  /** Only these tensors; one that the file does not have is `not-found`. */
  names?: Iterable<string>;
}

export interface LoadedFile {
  readonly format: string;
  /** In the order of the data; a lone `.npy` is under `""`. Each has memory of its own. */
  readonly tensors: Map<string, Tensor>;
  readonly metadata: Map<string, string>;
}

/**
 * Opens a file of tensors without reading its data; the format is told by its content. A URL is read by ranges.
 * Rejects with the codes of the codec, `not-this-format` for another file; reading an array that is no tensor
 * (strings, dates, structs) is `unsupported`. Closing the file closes its source too.
 */
export async function open(source: FacadeSource): Promise<TensorFile> {
  return openSource(source);
}

async function openSource(given: FacadeSource, signal?: AbortSignal): Promise<TensorFile> {
  const source = await toFacadeSource(given, signal);
  try {
    return await openTensors(source, sourcePath(given));
  } catch (error) {
    if (isOurs(given)) await source.close?.().catch(() => {}); // the first error is the one to know
    throw withPath(error, given);
  }
}

/**
 * Loads all tensors of a file, or those in `names`, each in memory of its own. A byte source that is given stays open.
 * Rejects as {@link open} does.
 */
export async function load(
  source: FacadeSource,
  options: LoadFileOptions = {},
): Promise<LoadedFile> {
  const { names, ...reading } = options;
  const given: unknown = names;
  if (given !== undefined && !isIterable(given)) {
    throw new TensorjarError("invalid-argument", `names is ${describe(given)}`, {
      name: "names",
      hint: "give an array of names",
    });
  }
  const file = await openSource(source, options.signal);
  try {
    const tensors = new Map<string, Tensor>();
    for await (const [name, tensor] of file.entries(names, reading)) tensors.set(name, tensor);
    return { format: file.format, tensors, metadata: new Map(file.metadata) };
  } catch (error) {
    throw withPath(error, source);
  } finally {
    if (isOurs(source)) await file.close();
  }
}

function isIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}
