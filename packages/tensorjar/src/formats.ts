import {
  type ByteSource,
  isTensor,
  type SniffedFormat,
  sniff,
  type Tensor,
  type TensorFile,
  TensorjarError,
} from "@tensorjar/core";
import { notThisFormat, quote } from "@tensorjar/core/codec";
import { type NpyArray, openNpy } from "@tensorjar/npy";
import { openNpz } from "@tensorjar/npz";
import { openSafetensors, openShardedSafetensors } from "@tensorjar/safetensors";
import { toFacadeSource } from "./source.js";

/** The containers that the facade writes. */
export type Container = "safetensors" | "npz" | "npy";

/** Containers by the extension of a file's name. */
export function containerByName(name: string): Container | undefined {
  const extension = /\.(safetensors|npz|npy)$/i.exec(name)?.[1];
  return extension?.toLowerCase() as Container | undefined; // the pattern has no other
}

type Opener = (source: ByteSource) => Promise<TensorFile>;

const openers: Partial<Record<SniffedFormat, Opener>> = {
  safetensors: (source) => openSafetensors(source),
  npy: async (source) => tensorsOnly(await openNpy(source)),
  npz: async (source) => tensorsOnly(await openNpz(source)),
  zip: async (source) => tensorsOnly(await openNpz(source)),
};

/** No container is shorter than this, in bytes. */
const shortest = 8;
/** Bytes that tell a format. */
const headLength = 512;
/** An index of a sharded model may be this long: 100 MB, as safetensors headers may. */
const maxIndexLength = 100_000_000;

/** What the first bytes of `source` are. */
export async function sniffSource(
  source: ByteSource,
): Promise<{ head: Uint8Array; format: SniffedFormat }> {
  const head = await source.read(0, Math.min(headLength, source.size));
  return { head, format: sniff(head) };
}

/**
 * Opens `source` by its content; only where the first bytes tell nothing, by the extension of `path`, so that
 * the codec can say what is wrong. An index of a sharded model opens its shards beside it.
 */
export async function openTensors(source: ByteSource, path?: string): Promise<TensorFile> {
  const { head, format } = await sniffSource(source);
  const byName = format === "unknown" && path !== undefined ? containerByName(path) : undefined;
  const open = openers[byName ?? format];
  if (open !== undefined) return open(source);
  if (format === "json" && path !== undefined && source.size <= maxIndexLength) {
    const index = await source.read(0, source.size);
    await source.close?.();
    return openShardedSafetensors(index, (file) => toFacadeSource(beside(path, file)));
  }
  throw unknownFormat(head, "a file of tensors (.npy, .npz or safetensors)");
}

/** The error for a file whose first bytes are no container that is wanted here. */
export function unknownFormat(head: Uint8Array, wanted: string): TensorjarError {
  const told = notThisFormat(head, "unknown", wanted);
  if (told !== undefined) return told;
  if (head.length < shortest) {
    return new TensorjarError("truncated", `${head.length} bytes are too few for ${wanted}`, {
      expected: shortest,
      actual: head.length,
    });
  }
  const first = Array.from(head.subarray(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join(
    " ",
  );
  return new TensorjarError(
    "not-this-format",
    `this is not ${wanted}: it begins with the bytes ${first}`,
    {
      offset: 0,
      expected: wanted,
      actual: first,
    },
  );
}

/** The address of a plain file name in the folder of `path`, which is a path or a URL. */
function beside(path: string, file: string): string {
  if (/^[a-z][a-z\d+.-]+:/i.test(path)) return new URL(encodeURIComponent(file), path).href;
  return path.replace(/[^/\\]*$/, () => file);
}

/** `file` without the kinds of array that are no tensors: reading one is `unsupported`. */
function tensorsOnly(file: TensorFile<NpyArray>): TensorFile {
  const only = (name: string, array: NpyArray): Tensor => {
    if (isTensor(array)) return array;
    throw new TensorjarError(
      "unsupported",
      `${name === "" ? "the array" : quote(name)} is of dtype ${quote(array.dtype)}, which is no tensor`,
      {
        name,
        actual: array.dtype,
        hint: `open${file.format === "npy" ? "Npy" : "Npz"} reads it`,
      },
    );
  };
  return {
    format: file.format,
    names: file.names,
    metadata: file.metadata,
    info: (name) => file.info(name),
    get: async (name, options) => only(name, await file.get(name, options)),
    async *entries(names, options) {
      for await (const [name, array] of file.entries(names, options))
        yield [name, only(name, array)];
    },
    chunks: (name, options) => file.chunks(name, options),
    close: () => file.close(),
  };
}
