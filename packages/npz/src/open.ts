import type { ByteSource, ReadOptions, SourceLike, TensorFile } from "@tensorjar/core";
import { inOrder, toSource } from "@tensorjar/core/codec";
import type { NpyArray, NpyHeader } from "@tensorjar/npy";
import { arrayShape, type NpyLayout, voidDType } from "@tensorjar/npy/codec";
import { decodeMember, isArray, magicLength } from "./content.js";
import { dataPieces } from "./data-pieces.js";
import { type Entry, type NpzMember, parseDirectory } from "./directory.js";
import { checkNames, endWindow, findDirectory, headLength, noArchive } from "./end-record.js";
import { hasArrayName } from "./names.js";
import {
  contentOf,
  isSmall,
  kept,
  layoutOf,
  prefix,
  type Read,
  type Run,
  reading,
  runs,
} from "./reader.js";
import { budget, finder, type NpzReadOptions, select } from "./select.js";

/** An open archive. Arrays go by the member's name without `.npy`; nothing is read but what is asked for. */
export interface NpzFile extends TensorFile<NpyArray> {
  readonly format: "npz";
  /** The members that end in `.npy`, without it, in the archive's order. */
  readonly names: readonly string[];
  /** Every member, arrays or not, in the archive's order. */
  readonly members: readonly NpzMember[];
  /** The .npy header of one array, from the first bytes of its member; these are not compared with the CRC-32. */
  header(name: string, options?: { signal?: AbortSignal }): Promise<NpyHeader>;
  /** Arrays by name, in the archive's order; without `names` every member that is an array. */
  getAll(names?: Iterable<string>, options?: ReadOptions): Promise<Map<string, NpyArray>>;
  /** The content of any member, decompressed and verified, in memory of its own. */
  bytes(name: string, options?: { signal?: AbortSignal }): Promise<Uint8Array>;
}

/**
 * Opens an archive and reads its directory: one read at the end of the source, a second where the directory is large.
 * Each method reads the members it is asked for, checks them against the directory and their CRC-32, and gives arrays
 * in memory of their own; it rejects as `decodeNpz` throws. A source given as a promise is closed when opening fails.
 */
export async function openNpz(source: SourceLike, options: NpzReadOptions = {}): Promise<NpzFile> {
  const given = await toSource(source);
  try {
    budget(options);
    return await readArchive(given, options);
  } catch (error) {
    if ("then" in source) await given.close?.().catch(() => {}); // the first error is the one to know
    throw error;
  }
}

/** Bytes at the end of a file that are read first: the end record whatever its comment, the whole directory of most archives. */
const tailLength = 65 << 10;

async function readArchive(source: ByteSource, options: NpzReadOptions): Promise<NpzFile> {
  const { size } = source;
  const direct = reading(source);
  let start = Math.max(0, size - tailLength);
  let tail = await direct(start, size - start);
  let place = findDirectory(tail, size);
  if (typeof place === "string" && start > 0) {
    start = Math.max(0, size - endWindow);
    tail = await direct(start, size - start);
    place = findDirectory(tail, size);
  }
  const read = kept(start, tail, direct);
  if (typeof place === "string")
    throw noArchive(await read(0, Math.min(size, headLength)), size, place);
  const entries = parseDirectory(await read(place.start, place.length), place);
  checkNames(entries);
  const reader = (signal?: AbortSignal): Read => {
    signal?.throwIfAborted();
    return kept(start, tail, reading(source, signal));
  };
  return npzFile(entries, reader, options, async () => source.close?.());
}

function npzFile(
  entries: readonly Entry[],
  reader: (signal?: AbortSignal) => Read,
  options: NpzReadOptions,
  close: () => Promise<void>,
): NpzFile {
  const find = finder(entries);

  const arrayOf = async (from: Read, entry: Entry, signal?: AbortSignal): Promise<NpyArray> =>
    decodeMember(entry, await contentOf(from, entry, signal), options, true);

  const layout = (name: string, signal?: AbortSignal): Promise<NpyLayout> =>
    layoutOf(reader(signal), find(name), options);

  /** The member of that name, of a size that the options allow. */
  const allowed = (name: string, bytes?: boolean): Entry => {
    const entry = find(name, bytes);
    budget(options)(entry);
    return entry;
  };

  async function* read(
    names: Iterable<string> | undefined,
    { signal, onProgress, concurrency }: ReadOptions = {},
  ): AsyncGenerator<[string, NpyArray]> {
    const chosen = select(entries, names, find);
    const take = budget(options); // when a member's turn comes
    const takeAhead = budget(options); // when a large one is read: what is over the limit then is so in its turn, too
    const total = totalSize(chosen);
    let loaded = 0;

    /** The array of a member; `undefined` where everything is read and it turns out to be none. */
    const arrayIn = async (from: Read, entry: Entry): Promise<NpyArray | undefined> => {
      if (names === undefined && !hasArrayName(entry.name)) {
        if (entry.size < magicLength) return undefined;
        if (!isArray(await prefix(from, entry, magicLength))) return undefined;
      }
      (isSmall(entry) ? take : takeAhead)(entry);
      return arrayOf(from, entry, signal);
    };

    /** Reads a run at once; small members are decoded when their turn comes. */
    const load = async (run: Run): Promise<Loaded[]> => {
      const [entry] = run;
      const from = reader(signal);
      if (!isSmall(entry)) {
        const array = await arrayIn(from, entry);
        return [{ entry, array: async () => array }];
      }
      const { offset } = entry;
      const { limit } = run.at(-1) ?? entry;
      const near = kept(offset, await from(offset, limit - offset), from);
      return run.map((member) => ({ entry: member, array: () => arrayIn(near, member) }));
    };

    const tasks = runs(chosen).map((run) => ({ bytes: totalSize(run), run: () => load(run) }));
    for await (const members of inOrder(tasks, concurrency)) {
      for (const { entry, array } of members) {
        signal?.throwIfAborted();
        const value = await array();
        if (value !== undefined && !isSmall(entry)) take(entry);
        loaded += entry.size;
        onProgress?.({ loaded, total, name: entry.key });
        if (value !== undefined) yield [entry.key, value];
      }
    }
  }

  return {
    format: "npz",
    metadata: new Map(),
    names: entries.filter(({ name }) => hasArrayName(name)).map(({ key }) => key),
    members: entries.map(({ name, size, compressedSize, method, crc32, offset }) => {
      return { name, size, compressedSize, method, crc32, offset };
    }),
    async info(name) {
      const { header, element, byteLength } = await layout(name);
      const dtype = voidDType(element, options) ?? element.dtype;
      const reverse = options.fortranOrder === "reverse-shape";
      return { dtype, shape: arrayShape(header, reverse ? options : {}), byteLength };
    },
    header: async (name, { signal } = {}) => (await layout(name, signal)).header,
    get: async (name, { signal } = {}) => arrayOf(reader(signal), allowed(name), signal),
    entries: read,
    async getAll(names, readOptions) {
      const arrays = new Map<string, NpyArray>();
      for await (const [name, array] of read(names, readOptions)) arrays.set(name, array);
      return arrays;
    },
    async *chunks(name, { signal } = {}) {
      yield* dataPieces(reader(signal), allowed(name), options, signal);
    },
    async bytes(name, { signal } = {}) {
      return contentOf(reader(signal), allowed(name, true), signal);
    },
    close,
  };
}

interface Loaded {
  readonly entry: Entry;
  array(): Promise<NpyArray | undefined>;
}

function totalSize(entries: readonly Entry[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}
