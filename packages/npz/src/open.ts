import {
  type ReadOptions,
  type SourceLike,
  type TensorFile,
  TensorjarError,
} from "@tensorjar/core";
import { inOrder, type OrderedTask, toSource } from "@tensorjar/core/codec";
import type { NpyArray, NpyHeader } from "@tensorjar/npy";
import { arrayOf, contentPrefix, contentSync, isArray, magicLength } from "./content.js";
import { arrayInfo, dataPieces } from "./data-pieces.js";
import { budget, finder, isSkipped, type NpzReadOptions, select } from "./decode.js";
import type { Entry, NpzMember } from "./directory.js";
import { hasArrayName } from "./names.js";
import { isSmall, type MemberReader, memberReader, type Run, runs } from "./reader.js";

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
  budget(options);
  const given = await toSource(source);
  try {
    const reader = await memberReader(given, options);
    return npzFile(reader, options, async () => given.close?.());
  } catch (error) {
    if ("then" in source) await given.close?.().catch(() => {}); // the first error is the one to know
    throw error;
  }
}

function npzFile(
  reader: MemberReader,
  options: NpzReadOptions,
  close: () => Promise<void>,
): NpzFile {
  const { entries } = reader;
  const find = finder(entries);
  const byName = new Map(entries.map((entry) => [entry.name, entry]));

  /** Reads a run at once and gives each member's array, or `undefined` for what turns out to be none. */
  async function load(
    run: Run,
    every: boolean,
    take: (entry: Entry) => void,
    signal?: AbortSignal,
  ): Promise<Loaded[]> {
    const [first] = run.entries;
    if (first !== undefined && !isSmall(first)) {
      const skip =
        every &&
        !hasArrayName(first.name) &&
        !isArray(await reader.prefix(first, magicLength, signal));
      if (!skip) take(first);
      const array = skip ? undefined : await reader.array(first, signal);
      return [{ entry: first, array: () => array }];
    }
    const compressed = await reader.run(run, signal);
    return run.entries.map((entry) => ({
      entry,
      array() {
        const raw = compressed(entry);
        if (every && !hasArrayName(entry.name) && !isArray(contentPrefix(entry, raw, magicLength)))
          return undefined;
        take(entry);
        const content = contentSync(entry, raw);
        return arrayOf(entry, content, { ...options, copy: true }, entry.method === "deflate");
      },
    }));
  }

  async function* read(
    names: Iterable<string> | undefined,
    { signal, onProgress, concurrency = 4 }: ReadOptions,
  ): AsyncGenerator<[string, NpyArray]> {
    checkConcurrency(concurrency);
    signal?.throwIfAborted();
    const every = names === undefined;
    const chosen = select(entries, names).filter((entry) => !(every && isSkipped(entry)));
    const take = budget(options);
    const tasks = function* (): Generator<OrderedTask<Loaded[]>> {
      for (const run of runs(chosen)) {
        const bytes = run.entries.reduce((sum, { size }) => sum + size, 0);
        yield { bytes, run: () => load(run, every, take, signal) };
      }
    };
    const total = chosen.reduce((sum, { size }) => sum + size, 0);
    let loaded = 0;
    for await (const results of inOrder(tasks(), concurrency)) {
      for (const { entry, array } of results) {
        signal?.throwIfAborted();
        const value = array();
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
    members: entries.map(({ name, size, compressedSize, method, crc32, offset }) => ({
      name,
      size,
      compressedSize,
      method,
      crc32,
      offset,
    })),
    async info(name) {
      return arrayInfo(await reader.layout(find(name)), options);
    },
    header: async (name, { signal } = {}) => (await reader.layout(find(name), signal)).header,
    async get(name, { signal } = {}) {
      for await (const [, array] of read([name], { ...(signal && { signal }) })) return array;
      throw new Error("unreachable: a member that is named gives its array or throws");
    },
    entries: (names, readOptions = {}) => read(names, readOptions),
    async getAll(names, readOptions = {}) {
      const arrays = new Map<string, NpyArray>();
      for await (const [name, array] of read(names, readOptions)) arrays.set(name, array);
      return arrays;
    },
    async *chunks(name, { signal } = {}) {
      const entry = find(name);
      budget(options)(entry);
      yield* dataPieces(reader, entry, options, signal);
    },
    async bytes(name, { signal } = {}) {
      const entry = byName.get(name) ?? find(name);
      budget(options)(entry);
      return reader.content(entry, signal);
    },
    close,
  };
}

interface Loaded {
  readonly entry: Entry;
  array(): NpyArray | undefined;
}

function checkConcurrency(concurrency: number): void {
  if (Number.isInteger(concurrency) && concurrency > 0) return;
  throw new TensorjarError("invalid-argument", `concurrency is ${String(concurrency)}`, {
    name: "concurrency",
    expected: "an integer of at least 1",
    actual: concurrency,
  });
}
