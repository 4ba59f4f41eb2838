import type {
  ByteSource,
  ReadOptions,
  SourceLike,
  Tensor,
  TensorFile,
  TensorInfo,
} from "@tensorjar/core";
import {
  allocate,
  inOrder,
  memoryFor,
  readParts,
  readsParts,
  tensorFromBytes,
} from "@tensorjar/core/codec";
import type { SafetensorsHeader } from "./header.js";
import type { SafetensorsInfo } from "./header-parser.js";
import { byPlace } from "./layout.js";
import { lookUp, nameSet } from "./names.js";
import { openHeader, type SafetensorsOpenOptions } from "./open-header.js";
import { type Selection, sliceByteRanges } from "./slice.js";

/** Tensors of fewer bytes than `below` are read together with their neighbours, about `most` bytes at once. */
interface Merging {
  readonly below: number;
  readonly most: number;
}
const byCopy: Merging = { below: 256 << 10, most: 4 << 20 };
const inParts: Merging = { below: 1 << 20, most: 1 << 20 };
const chunkSize = 8 << 20;

/**
 * A safetensors file that is read as it is asked. A name that is asked for may also be one that the metadata records
 * as another name of a tensor, as `aliases: "metadata"` and torch's `save_model` write it.
 */
export interface SafetensorsFile extends TensorFile {
  /** What the header says of each tensor, in the order of the data; `begin` and `end` count from the data's start. */
  readonly tensors: ReadonlyMap<string, SafetensorsInfo>;
  /**
   * A part of a tensor, in memory of its own; only the byte ranges it takes are read.
   * Rejects as {@link sliceByteRanges} throws, and with `not-found`.
   */
  slice(name: string, selection: Selection, options?: { signal?: AbortSignal }): Promise<Tensor>;
  /** Bytes that all tensors or those of `names` take; nothing is read. Throws `not-found`. */
  footprint(names?: Iterable<string>): number;
  /** All tensors or those of `names`, in the order of the data, in memory of their own. Rejects with `not-found`. */
  getAll(names?: Iterable<string>, options?: ReadOptions): Promise<Map<string, Tensor>>;
}

/**
 * Opens a safetensors file with one read, two when the header is longer than 64 KiB, and checks the whole header.
 * Rejects as {@link decodeSafetensors} throws, and with what the source throws.
 */
export async function openSafetensors(
  source: SourceLike,
  options?: SafetensorsOpenOptions,
): Promise<SafetensorsFile> {
  return fileOf(...(await openHeader(source, options)));
}

function fileOf(
  source: ByteSource,
  { tensors, metadata, dataOffset }: SafetensorsHeader,
): SafetensorsFile {
  /** What is called `name`, or what the metadata says it is another name of. */
  const find = (name: string): SafetensorsInfo =>
    tensors.get(name) ?? tensors.get(metadata.get(name) ?? name) ?? lookUp(tensors, name);

  const select = (names?: Iterable<string>): readonly Member[] =>
    names === undefined
      ? [...tensors]
      : [...nameSet(names)]
          .map((name): Member => [name, find(name)])
          .sort(([, a], [, b]) => byPlace(a, b));

  const read = async (
    begin: number,
    end: number,
    signal?: AbortSignal,
    into?: Uint8Array,
  ): Promise<Uint8Array> => {
    signal?.throwIfAborted();
    if (begin === end) return allocate(0);
    const options = { ...(into && { into }), ...(signal && { signal }) };
    return source.read(dataOffset + begin, end - begin, options);
  };

  /**
   * Tensors as they are read together: to be given away one by one, each at its turn. `atOnce` makes the memory for all
   * of a file before the first read: a process that gets memory holds up its threads that read into other memory.
   */
  async function* readGroups(
    names: Iterable<string> | undefined,
    { signal, onProgress, concurrency }: ReadOptions = {},
    atOnce = false,
  ): AsyncGenerator<Iterable<[string, Tensor]>> {
    signal?.throwIfAborted();
    const wanted = select(names);
    const total = sizeOf(wanted);
    let loaded = 0;
    const inOne = readsParts(source);
    const tasks = groups(wanted, inOne ? inParts : byCopy).map((members) => {
      const bytes = sizeOf(members);
      const memory = (): Uint8Array[] =>
        members.map(([, { begin, end }]) => memoryFor(source, end - begin));
      const made = atOnce && inOne ? memory() : undefined;
      return {
        bytes,
        run: async (): Promise<[string, Tensor][]> => {
          signal?.throwIfAborted();
          const parts = made ?? memory();
          const start = members[0]?.[1].begin ?? 0; // no group is empty
          if (bytes > 0) await readParts(source, dataOffset + start, parts, signal);
          return members.map(([name, { dtype, shape }], i) => {
            const data = parts[i] as Uint8Array; // one for each member
            return [name, tensorFromBytes(dtype, [...shape], data) as Tensor]; // its data is what its dtype says
          });
        },
      };
    });
    function* inTurn(group: readonly [string, Tensor][]): Generator<[string, Tensor]> {
      for (const entry of group) {
        signal?.throwIfAborted(); // what was read together is not given away after
        loaded += entry[1].data.byteLength;
        onProgress?.({ loaded, total, name: entry[0] });
        yield entry;
      }
    }
    for await (const group of inOrder(tasks, concurrency)) yield inTurn(group);
  }

  async function* entries(
    names?: Iterable<string>,
    options?: ReadOptions,
  ): AsyncGenerator<[string, Tensor]> {
    for await (const group of readGroups(names, options)) yield* group;
  }

  const getAll: SafetensorsFile["getAll"] = async (names, options) => {
    const all = new Map<string, Tensor>();
    for await (const group of readGroups(names, options, true)) {
      for (const [name, tensor] of group) all.set(name, tensor);
    }
    return all;
  };

  return {
    format: "safetensors",
    names: [...tensors.keys()],
    metadata,
    tensors,
    async info(name): Promise<TensorInfo> {
      const { dtype, shape, begin, end } = find(name);
      return { dtype, shape: [...shape], byteLength: end - begin };
    },
    // Not by way of getAll: in a process that has just started, each function on the way takes time to compile.
    async get(name, { signal } = {}) {
      const { dtype, shape, begin, end } = find(name);
      const data = await read(begin, end, signal, memoryFor(source, end - begin));
      return tensorFromBytes(dtype, [...shape], data) as Tensor; // its data is what its dtype says
    },
    async slice(name, selection, { signal } = {}) {
      signal?.throwIfAborted();
      const { dtype, shape, begin } = find(name);
      const { ranges, shape: result } = sliceByteRanges(dtype, shape, selection);
      const length = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
      const data = memoryFor(source, length);
      // Made one by one: there may be very many.
      function* tasks() {
        let filled = 0;
        for (const [from, to] of ranges) {
          const into = data.subarray(filled, filled + to - from);
          filled += into.length;
          yield { bytes: into.length, run: () => read(begin + from, begin + to, signal, into) };
        }
      }
      for await (const _ of inOrder(tasks()));
      return tensorFromBytes(dtype, result, data) as Tensor; // its data is what its dtype says
    },
    footprint: (names) => sizeOf(select(names)),
    entries,
    getAll,
    async *chunks(name, { signal } = {}) {
      signal?.throwIfAborted();
      const { begin, end } = find(name);
      for (let at = begin; at < end; at += chunkSize) {
        yield await read(at, Math.min(at + chunkSize, end), signal);
      }
    },
    async close() {
      await source.close?.();
    },
  };
}

type Member = [name: string, info: SafetensorsInfo];

/** What one read brings. */
function groups(members: readonly Member[], { below, most }: Merging): Member[][] {
  const all: Member[][] = [];
  let group: Member[] = [];
  let start = 0;
  let reach = Number.NaN; // where a neighbour would begin, if it may join
  for (const member of members) {
    const [, { begin, end }] = member;
    const small = end - begin < below;
    if (!small || begin !== reach || end - start > most) {
      group = [];
      all.push(group);
      start = begin;
    }
    group.push(member);
    reach = small ? end : Number.NaN;
  }
  return all;
}

function sizeOf(members: readonly Member[]): number {
  return members.reduce((sum, [, { begin, end }]) => sum + end - begin, 0);
}
