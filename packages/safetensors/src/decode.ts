import type { BytesLike, Tensor } from "@tensorjar/core";
import { tensorFromBytes, toBytes } from "@tensorjar/core/codec";
import { checkSize, dataStart, readHeader } from "./header.js";
import { selectNames } from "./names.js";

export interface SafetensorsReadOptions {
  /** Owned arrays instead of views (default false). */
  copy?: boolean;
  /** The tensors to return: names, or what a predicate says; all by default. */
  names?: Iterable<string> | ((name: string) => boolean);
  /** What bytes after the last tensor are: an error (default), or nothing. */
  trailing?: "error" | "ignore";
  /** The most bytes a header may have (default 100,000,000, as the reference). */
  maxHeaderLength?: number;
}

/**
 * Decodes a safetensors file into tensors, in the order of their data, and metadata.
 * Tensors are views on `bytes` where those are aligned for the dtype, copies where not; with `copy` always copies.
 * The whole header is checked, whatever `names` selects.
 * Throws `not-this-format`, `truncated`, `trailing-bytes`, `limit-exceeded`, `invalid-utf8`, `invalid-header`,
 * `duplicate-name`, `invalid-dtype`, `invalid-offsets`, `invalid-shape`, and `not-found` for a name that is not there.
 * Format: https://github.com/huggingface/safetensors
 */
export function decodeSafetensors(
  bytes: BytesLike,
  options: SafetensorsReadOptions = {},
): { tensors: Map<string, Tensor>; metadata: Map<string, string> } {
  const file = toBytes(bytes);
  const { copy, names, trailing, maxHeaderLength } = options;
  const header = readHeader(file.subarray(0, dataStart(file, file.length, maxHeaderLength)));
  checkSize(header, file.length, trailing);
  const { dataOffset, metadata } = header;
  const keep = typeof names === "function" ? names : selectNames(header.tensors, names);
  const tensors = new Map<string, Tensor>();
  for (const [name, { dtype, shape, begin, end }] of header.tensors) {
    if (!keep(name)) continue;
    const data = file.subarray(dataOffset + begin, dataOffset + end);
    tensors.set(name, tensorFromBytes(dtype, shape, data, copy) as Tensor); // its data is what its dtype says
  }
  return { tensors, metadata };
}
