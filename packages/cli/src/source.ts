import { textWithoutSecrets } from "@tensorjar/core/codec";
import {
  type ByteSource,
  fileSource,
  httpSource,
  isTensor,
  isTensorjarError,
  type NpyArray,
  type NpzFile,
  type NpzMember,
  open,
  openNpy,
  openNpz,
  type TensorFile,
  type TensorInfo,
} from "tensorjar";

/** The bytes behind a path or a URL, for functions that take no paths; reading them rejects once `signal` is aborted. */
export async function sourceOf(path: string, signal: AbortSignal): Promise<ByteSource> {
  const source = await (/^https?:/i.test(path) ? httpSource(path, { signal }) : fileSource(path));
  return {
    size: source.size,
    read: (offset, length, options) => source.read(offset, length, { signal, ...options }),
    close: async () => source.close?.(),
  };
}

/** A path, or a URL without passwords and signatures. */
export function shownPath(path: string): string {
  return textWithoutSecrets(path);
}

/** What an archive's member is called as an array. */
export function arrayName(member: string): string {
  return member.replace(/\.npy$/, "");
}

/** An open file with every kind of array, and what else an archive holds. */
export interface ArrayFile extends TensorFile<NpyArray> {
  /** In the order of the data; an archive's members are told by their content, whatever they are called. */
  readonly names: readonly string[];
  /** All members of an archive. */
  readonly members?: readonly NpzMember[];
  /** The members of an archive that are no arrays, or that nothing here decodes. */
  readonly others: readonly OtherMember[];
}

/** A member of an archive that is no array. */
export interface OtherMember {
  /** As in the archive, also where that ends in `.npy`. */
  readonly name: string;
  /** Bytes of the content, decompressed. */
  readonly size: number;
  /** The content, verified. */
  bytes(): Promise<Uint8Array>;
}

/** Whether a file is a checkpoint of tensorjar or of the gsplat gem. */
export function isCheckpoint(file: ArrayFile): boolean {
  return (
    file.metadata.get("format") === "tensorjar-checkpoint" ||
    file.names.includes("checkpoint_version")
  );
}

/** Opens a file by its content, to be read until `signal` is aborted, with every kind of array that `.npy` and `.npz` hold. */
export async function openArrays(path: string, signal: AbortSignal): Promise<ArrayFile> {
  const file = await open(path);
  if (file.format !== "npy" && file.format !== "npz")
    return withoutMembers({
      ...file,
      get: (name) => file.get(name, { signal }),
      chunks: (name) => file.chunks(name, { signal }),
    });
  await file.close();
  const source = sourceOf(path, signal);
  return file.format === "npy"
    ? withoutMembers(await openNpy(source))
    : withMembers(await openNpz(source));
}

function withoutMembers(file: TensorFile<NpyArray>): ArrayFile {
  return { ...file, others: [] };
}

async function withMembers(file: NpzFile): Promise<ArrayFile> {
  try {
    const arrays = new Set(file.names);
    const names: string[] = [];
    const others: OtherMember[] = [];
    for (const member of file.members) {
      const { name, size } = member;
      const key = arrayName(name);
      if (arrays.has(key) || (await isArray(file, member, key))) names.push(key);
      else others.push({ name, size, bytes: () => file.bytes(name) });
    }
    const sizes = new Map(file.members.map(({ name, size }) => [arrayName(name), size]));
    const chunks = (name: string): AsyncIterable<Uint8Array> =>
      (sizes.get(name) ?? 0) > small ? file.chunks(name) : smallChunks(file, name);
    return { ...file, names, others, info: once(file), chunks };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Bytes of a member that is not worth a stream. */
const small = 1 << 20;

/** As `chunks` of the archive, at once where the member holds numbers: a stream takes many times as long. */
async function* smallChunks(file: NpzFile, name: string): AsyncGenerator<Uint8Array> {
  const array = await file.get(name);
  if (isTensor(array)) {
    const { buffer, byteOffset, byteLength } = array.data;
    yield new Uint8Array(buffer, byteOffset, byteLength);
  } else yield* file.chunks(name);
}

/** `info` of an archive, whose members' headers are inflated once. */
function once({ info }: NpzFile): NpzFile["info"] {
  const known = new Map<string, Promise<TensorInfo>>();
  return (name) => {
    const found = known.get(name) ?? info(name);
    known.set(name, found);
    return found;
  };
}

/** What may be wrong with the header of an array. */
const headerFaults = [
  "invalid-dtype",
  "invalid-header",
  "invalid-shape",
  "invalid-utf8",
  "limit-exceeded",
  "truncated",
  "unsupported",
  "unsupported-version",
] as const;

/** No array is shorter than the magic that it starts with, in bytes. */
const magicLength = 6;

/** Whether a member that is not called `.npy` is an array all the same. Rejects when it is damaged. */
async function isArray(file: NpzFile, { size, method }: NpzMember, key: string): Promise<boolean> {
  if (size < magicLength || typeof method === "number") return false;
  try {
    await file.header(key);
    return true;
  } catch (error) {
    if (isTensorjarError(error, "not-this-format", "encrypted")) return false;
    if (!isTensorjarError(error, ...headerFaults)) throw error;
    return true; // whoever reads it will be told
  }
}
