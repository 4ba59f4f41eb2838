import {
  type Bytes,
  type Chunks,
  dtypeInfo,
  type Named,
  type Progress,
  type ReadOptions,
  type Tensor,
  TensorjarError,
  toFloat64,
} from "@tensorjar/core";
import { namedEntries, quote, tensorBytes } from "@tensorjar/core/codec";
import { npyChunks } from "@tensorjar/npy";
import { npzChunks } from "@tensorjar/npz";
import { safetensorsChunks } from "@tensorjar/safetensors";
import {
  flattenTreeAsync,
  type LeafAdapter,
  type LoadOptions,
  type LoadReport,
  loadTree,
  visitTree,
} from "@tensorjar/tree";
import { load } from "./files.js";
import { type Container, containerByName } from "./formats.js";
import type { FacadeSource } from "./source.js";
import { type Target, targetName, writeTarget } from "./target.js";

export interface SaveOptions {
  /** Told by the target's extension when absent; a sink gets safetensors. */
  format?: Container;
  /** Strings kept in the file; only safetensors holds them. They win over what `save` records itself. */
  metadata?: Named<string>;
  /** Recorded as the metadata `root`. */
  root?: string;
  /** What to do with tensors that share memory (safetensors; default "refuse"). */
  aliases?: "refuse" | "copy" | "metadata";
  adapters?: readonly LeafAdapter[];
  statics?: "error" | "skip";
  only?: "trainable";
  /** Of `.npz` (default "stored"). */
  compression?: "stored" | "deflate";
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

/**
 * Saves any tree of arrays as one file, each leaf under its path (`layers.0.weight`). Do not change the arrays until
 * the promise resolves. A path is written atomically: a save that fails leaves the old file and nothing else.
 * Rejects with `unsupported` for what the container cannot hold, and with the codes of `flattenTree` and the codec.
 */
export async function save(
  target: Target,
  tree: unknown,
  options: SaveOptions = {},
): Promise<void> {
  const format = targetFormat(target, options.format);
  const flat = await flattenTreeAsync(tree, options);
  options.signal?.throwIfAborted();
  await writeTarget(target, encoders[format](flat, options), options);
}

export type LoadIntoOptions = LoadOptions & ReadOptions;

/**
 * Loads a file into a live tree, strictly: every path of the tree must be in the file with its shape and dtype, and
 * nothing else; a path that the metadata records as another name of a tensor is. Anything that does not fit is one
 * `tree-mismatch` error that lists every problem; the tree is then as it was.
 */
export async function loadInto(
  source: FacadeSource,
  tree: unknown,
  options: LoadIntoOptions = {},
): Promise<LoadReport> {
  const { tensors, metadata } = await load(source, options);
  addAliases(tensors, metadata, tree, options);
  return loadTree(tree, tensors, options);
}

/**
 * Gives tensors by their other names, as `aliases: "metadata"` and torch's `save_model` record them, to the paths that
 * the file leaves empty, and takes away those that no path has: an index of shards lists them as tensors of their own.
 */
function addAliases(
  tensors: Map<string, Tensor>,
  metadata: ReadonlyMap<string, string>,
  tree: unknown,
  options: LoadIntoOptions,
): void {
  const aliases = new Map<string, Tensor>();
  for (const [alias, name] of metadata) {
    const tensor = tensors.get(name);
    if (alias === name || tensor === undefined) continue;
    const own = tensors.get(alias);
    if (own !== undefined && !isEqual(own, tensor)) continue; // what the metadata says is out of date
    tensors.delete(alias);
    aliases.set(alias, tensor);
  }
  if (aliases.size === 0) return;
  const { rename = (name: string) => name } = options;
  const empty = new Set<string>();
  visitTree(tree, { leaf: (path) => empty.add(path) }, options);
  for (const name of tensors.keys()) empty.delete(rename(name));
  for (const [alias, tensor] of aliases)
    if (empty.delete(rename(alias))) tensors.set(alias, tensor);
}

/** Whether two tensors are the same, bit by bit. */
function isEqual(a: Tensor, b: Tensor): boolean {
  if (a.dtype !== b.dtype || String(a.shape) !== String(b.shape)) return false;
  const bytes = tensorBytes(a);
  const others = tensorBytes(b);
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== others[i]) return false;
  return true;
}

function targetFormat(target: Target, format: Container | undefined): Container {
  if (format !== undefined) {
    if (Object.hasOwn(encoders, format)) return format;
    throw new TensorjarError(
      "invalid-argument",
      `${quote(String(format))} is no format to save in`,
      {
        hint: "safetensors, npz and npy are",
      },
    );
  }
  const name = targetName(target);
  const byName = name === undefined ? "safetensors" : containerByName(name);
  if (byName !== undefined) return byName;
  throw new TensorjarError(
    "invalid-argument",
    `the extension of ${quote(name ?? "")} tells no format`,
    {
      hint: "end the name in .safetensors, .npz or .npy, or set `format`",
    },
  );
}

const encoders: Record<Container, (flat: Map<string, Tensor>, options: SaveOptions) => Chunks> = {
  safetensors: (flat, { metadata, root, aliases = "refuse" }) =>
    safetensorsChunks(flat, { metadata: treeMetadata(flat, metadata, root), aliases }),
  npz: (flat, options) => {
    refuseMetadata("an .npz", options);
    const chunks: AsyncIterable<Bytes> = npzChunks(flat, options);
    return { byteLength: Number.NaN, chunks };
  },
  npy: (flat, options) => {
    refuseMetadata("a .npy", options);
    const [leaf, ...others] = flat;
    if (leaf === undefined || others.length > 0) {
      throw new TensorjarError("unsupported", `a .npy holds one array, the tree has ${flat.size}`, {
        expected: 1,
        actual: flat.size,
        hint: "save it as .npz or .safetensors",
      });
    }
    return npyChunks(leaf[1]);
  },
};

function refuseMetadata(what: string, { metadata, root }: SaveOptions): void {
  if (metadata === undefined && root === undefined) return;
  throw new TensorjarError("unsupported", `${what} file cannot hold metadata`, {
    hint: "save it as .safetensors",
  });
}

/** What a tree's file says of itself; the user's own keys win. */
function treeMetadata(
  flat: Map<string, Tensor>,
  own: Named<string> | undefined,
  root: string | undefined,
): Map<string, string> {
  const metadata = new Map([["format", "tensorjar-tree"]]);
  if (root !== undefined) metadata.set("root", root);
  for (const key of ["step", "learning_rate"]) {
    for (const [path, leaf] of flat) {
      if (leaf.shape.length !== 0 || !(path === key || path.endsWith(`.${key}`))) continue;
      const text = scalarText(leaf);
      if (text !== undefined) {
        metadata.set(key, text);
        break;
      }
    }
  }
  if (own !== undefined)
    for (const [key, value] of namedEntries(own, "metadata")) metadata.set(key, value);
  return metadata;
}

/** A 0-D number as text: integers in decimal, floats as the shortest decimal that reads back, without exponent. */
function scalarText(leaf: Tensor): string | undefined {
  const { kind, bits } = dtypeInfo(leaf.dtype);
  if (kind === "int" || kind === "uint") return String(leaf.data[0]);
  if (kind !== "float" || bits < 8) return undefined;
  return plainDecimal(toFloat64(leaf)[0] ?? Number.NaN);
}

/** The shortest decimal of a double that reads back as the same one, never with an exponent. */
export function plainDecimal(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (Object.is(value, -0)) return "-0";
  const [mantissa = "", exponent] = String(value).split("e");
  if (exponent === undefined) return mantissa;
  const sign = mantissa.startsWith("-") ? "-" : "";
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return point >= digits.length
    ? sign + digits + "0".repeat(point - digits.length)
    : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
