import { type Bytes, byteLength, type DType, type Named, type Tensor } from "@tensorjar/core";
import { checkTensor, compareNames, namedEntries } from "@tensorjar/core/codec";
import { type AliasMode, dropAliases } from "./aliases.js";
import { checkDType, dtypeRank } from "./dtype-names.js";
import { headerBytes } from "./encode-header.js";

/** A tensor whose data is asked for when its turn comes, so that a file may be larger than memory. */
export interface TensorProducer {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** The data: a tensor of that dtype and shape, or its bytes (C order, little-endian) in pieces of any size. */
  data(): Tensor | AsyncIterable<Uint8Array>;
}

export interface SafetensorsWriteOptions {
  /** Text by name, for `__metadata__`. */
  metadata?: Named<string>;
  /** The file offset of the data is a multiple of this power of two (default 8, as the reference). */
  dataAlignment?: number;
  /**
   * Names that share memory: `refuse` them (default), `copy` writes the shared bytes once for each, `metadata` writes
   * them once, under the alphabetically first name that covers them, and records `metadata[other name] = that name`;
   * that another name was a part of them, or had another shape or dtype, is lost.
   */
  aliases?: AliasMode;
}

/** Tensors by name, or producers; what every writer takes. */
export type TensorEntries = Named<Tensor> | Iterable<TensorProducer>;

export interface WritePlan {
  readonly header: Bytes;
  /** What is written after the header, in the order of the file, without gaps. */
  readonly tensors: readonly CheckedEntry[];
  readonly byteLength: number;
}

/** Fixes order, names and offsets. Throws whatever would make a writer stop, before a byte is written. */
export function planWrite(
  entries: TensorEntries,
  { aliases = "refuse", dataAlignment, metadata = [] }: SafetensorsWriteOptions = {},
): WritePlan {
  const texts = new Map(namedEntries(metadata, "metadata"));
  return planEntries(dropAliases(checkedEntries(entries), aliases, texts), texts, dataAlignment);
}

/** The plan of one file for entries that are checked. */
export function planEntries(
  entries: readonly CheckedEntry[],
  metadata: Map<string, string>,
  dataAlignment?: number,
): WritePlan {
  const tensors = [...entries].sort((a, b) => b.rank - a.rank || compareNames(a.name, b.name));
  const header = headerBytes(tensors, metadata, dataAlignment);
  const bytes = tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
  return { header, tensors, byteLength: header.length + bytes };
}

/** A tensor to write, checked by itself. */
export interface CheckedEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly source: Tensor | TensorProducer;
  readonly bytes: number;
  readonly rank: number;
}

/** The entries in the order given, each checked. */
export function checkedEntries(entries: TensorEntries): CheckedEntry[] {
  return namedEntries<Tensor | TensorProducer>(pairsOf(entries)).map(([name, source]) => {
    const producer = isProducer(source);
    const bytes = producer
      ? byteLength(source.dtype, source.shape, name)
      : checkTensor(source, name);
    const { dtype, shape } = source;
    checkDType(dtype, name);
    // What a producer is held to later must not change until then.
    return {
      name,
      dtype,
      shape: producer ? [...shape] : shape,
      source,
      bytes,
      rank: dtypeRank(dtype),
    };
  });
}

/** Whether data is asked for when its turn comes. */
export function isProducer(source: Tensor | TensorProducer): source is TensorProducer {
  return typeof source === "object" && source !== null && typeof source.data === "function";
}

/** Producers by their own names, among pairs or alone. */
function pairsOf(entries: TensorEntries): Named<Tensor | TensorProducer> {
  if (typeof entries !== "object" || entries === null || !(Symbol.iterator in entries))
    return entries;
  if (entries instanceof Map) return entries; // of pairs alone, and there may be very many
  return [...entries].map((entry): readonly [string, Tensor | TensorProducer] => {
    return isNamed(entry) ? [entry.name, entry] : entry;
  });
}

function isNamed(entry: object): entry is TensorProducer {
  return !Array.isArray(entry) && "name" in Object(entry);
}
