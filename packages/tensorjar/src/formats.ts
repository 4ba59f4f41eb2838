import {
  type ByteSource,
  isTensor,
  isTensorjarError,
  type SniffedFormat,
  sniff,
  type Tensor,
  type TensorFile,
  TensorjarError,
} from "@tensorjar/core";
import { notThisFormat, quote } from "@tensorjar/core/codec";
import { type NpyArray, openNpy } from "@tensorjar/npy";
import { type NpzFile, openNpz } from "@tensorjar/npz";
import { openSafetensors, openShardedSafetensors } from "@tensorjar/safetensors";
import { beside } from "#platform";
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
};

/** No container is shorter than this, in bytes. */
const shortest = 8;
/** Bytes that tell a format. */
const headLength = 4096;
/** A safetensors header is read in pieces of this length where it starts with white space. */
const pieceLength = 1 << 20;
/** An index of a sharded model and a safetensors header may be this long: 100 MB. */
const maxJsonLength = 100_000_000;

/** What the first bytes of `source` are. */
export async function sniffSource(
  source: ByteSource,
): Promise<{ head: Uint8Array; format: SniffedFormat }> {
  const head = await source.read(0, Math.min(headLength, source.size));
  return { head, format: (await leadsToObject(source, head)) ? "safetensors" : sniff(head) };
}

/** Whether a length and, after any white space, a `{` start the file: a safetensors header, however far that `{` is. */
async function leadsToObject(source: ByteSource, head: Uint8Array): Promise<boolean> {
  if (head.length <= shortest) return false;
  const length = new DataView(head.buffer, head.byteOffset, shortest).getBigUint64(0, true);
  if (length > maxJsonLength) return false;
  const end = Math.min(shortest + Number(length), source.size);
  let piece = head.subarray(shortest, end);
  for (let at = shortest; piece.length > 0; ) {
    const start = piece.findIndex(
      (byte) => byte !== 32 && byte !== 9 && byte !== 10 && byte !== 13,
    );
    if (start >= 0) return piece[start] === 123;
    at += piece.length;
    piece = await source.read(at, Math.min(pieceLength, end - at));
  }
  return false;
}

/**
 * Opens `source` by its content; only where the first bytes tell nothing, by the extension of `path`, so that
 * the codec can say what is wrong. An index of a sharded model opens its shards beside it.
 */
export async function openTensors(source: ByteSource, path?: string): Promise<TensorFile> {
  const wanted = "a file of tensors (.npy, .npz or safetensors)";
  const { head, format } = await sniffSource(source);
  const byName = format === "unknown" && path !== undefined ? containerByName(path) : undefined;
  const open = openers[byName ?? format];
  if (open !== undefined) return open(source);
  if (isZip(format)) return tensorsOnly(await openZip(source, format, wanted));
  if (format === "json" && path !== undefined && source.size <= maxJsonLength) {
    const index = await source.read(0, source.size);
    await source.close?.();
    return openShardedSafetensors(index, (file) => toFacadeSource(beside(path, file)));
  }
  throw unknownFormat(head, wanted);
}

/** Whether `format` is that of an archive whose first member is no array, but may be followed by arrays. */
export function isZip(format: SniffedFormat): format is "zip" | "pytorch-zip" {
  return format === "zip" || format === "pytorch-zip";
}

/**
 * Opens an archive of which the first member does not tell whose it is. PyTorch's is refused in words: one that names
 * no array and has PyTorch's pickle, or began like it.
 */
export async function openZip(
  source: ByteSource,
  format: "zip" | "pytorch-zip",
  wanted: string,
): Promise<NpzFile> {
  const isLikely = format === "pytorch-zip";
  const file = await openNpz(source).catch((error: unknown) => {
    const isPytorch =
      isTensorjarError(error, "not-this-format") ||
      (isLikely && isTensorjarError(error, "invalid-archive", "truncated"));
    throw isPytorch ? pytorchZip(wanted) : error;
  });
  const { names, members } = file;
  if (names.length === 0 && (isLikely || members.some(({ name }) => pytorchPickle.test(name))))
    throw pytorchZip(wanted);
  return file;
}

const pytorchPickle = /^([^/]*\/)?(data|constants)\.pkl$/;

function pytorchZip(expected: string): TensorjarError {
  return new TensorjarError("not-this-format", `this is a PyTorch zip, not ${expected}`, {
    offset: 0,
    expected,
    actual: "pytorch-zip",
    hint: "save it again in Python, with safetensors or numpy.savez",
  });
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
