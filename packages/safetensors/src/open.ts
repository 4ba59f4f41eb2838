import type {
  ByteSource,
  ReadOptions,
  SourceLike,
  SourceReadOptions,
  Tensor,
  TensorFile,
  TensorInfo,
} from "@tensorjar/core";
import { abortable, allocate, inOrder, tensorFromBytes, toSource } from "@tensorjar/core/codec";
import type { SafetensorsReadOptions } from "./decode.js";
import { checkSize, dataStart, readHeader, type SafetensorsHeader } from "./header.js";
import type { SafetensorsInfo } from "./header-parser.js";
import { lookUp } from "./names.js";

/** Bytes of the first read: most headers are shorter. */
const firstRead = 64 << 10;
/** Tensors below this size are read together with their neighbours, `mergedRead` bytes at most. */
const smallTensor = 256 << 10;
const mergedRead = 4 << 20;
const chunkSize = 8 << 20;

/** A safetensors file that is read as it is asked. What is asked by name may also be an alias that the metadata records. */
export interface SafetensorsFile extends TensorFile {
  /** What the header says of each tensor, in the order of the data; `begin` and `end` count from the data's start. */
  readonly tensors: ReadonlyMap<string, SafetensorsInfo>;
  /** All tensors or those of `names`, in the order of the data, in memory of their own. */
  getAll(names?: Iterable<string>, options?: ReadOptions): Promise<Map<string, Tensor>>;
}

/**
 * Opens a safetensors file with one read, two when the header is longer than 64 KiB, and checks the whole header.
 * Rejects as {@link decodeSafetensors} throws, and with what the source throws.
 */
export async function openSafetensors(
  source: SourceLike,
  options: Pick<SafetensorsReadOptions, "trailing" | "maxHeaderLength"> = {},
): Promise<SafetensorsFile> {
  const opened = await toSource(source);
  try {
    const { size } = opened;
    const first = await opened.read(0, Math.min(size, firstRead));
    const start = dataStart(first, size, options.maxHeaderLength);
    const header = readHeader(
      start <= first.length ? first.subarray(0, start) : await rest(opened, first, start),
    );
    checkSize(header, size, options.trailing);
    return fileOf(opened, header);
  } catch (error) {
    if (source instanceof Promise) await opened.close?.().catch(() => {});
    throw error;
  }
}

/** The first `length` bytes, of which `first` are there. */
async function rest(source: ByteSource, first: Uint8Array, length: number): Promise<Uint8Array> {
  const bytes = allocate(length);
  bytes.set(first);
  await source.read(first.length, length - first.length, { into: bytes.subarray(first.length) });
  return bytes;
}

function fileOf(source: ByteSource, header: SafetensorsHeader): SafetensorsFile {
  const { tensors, metadata, dataOffset } = header;

  /** What is called `name`, or what the metadata says it is another name of. */
  const find = (name: string): SafetensorsInfo =>
    tensors.get(name) ?? tensors.get(metadata.get(name) ?? name) ?? lookUp(tensors, name);

  const read = async (
    begin: number,
    length: number,
    options: SourceReadOptions,
  ): Promise<Uint8Array> => {
    const { into, signal } = options;
    const bytes = await abortable(source.read(dataOffset + begin, length, options), signal);
    if (into === undefined || bytes.buffer === into.buffer) return bytes;
    into.set(bytes); // a source may know nothing of \`into\`
    return into;
  };

  const load = async (
    { dtype, shape, begin, end }: SafetensorsInfo,
    signal?: AbortSignal,
  ): Promise<Tensor> => {
    signal?.throwIfAborted();
    const into = allocate(end - begin);
    if (end > begin)
      await read(begin, end - begin, signal === undefined ? { into } : { into, signal });
    return tensorFromBytes(dtype, shape, into) as Tensor; // its data is what its dtype says
  };

  const loadGroup = async (group: Group, signal?: AbortSignal): Promise<[string, Tensor][]> => {
    const [only] = group.members;
    if (only !== undefined && group.members.length === 1)
      return [[only[0], await load(only[1], signal)]];
    const bytes = await read(
      group.begin,
      group.end - group.begin,
      signal === undefined ? {} : { signal },
    );
    return group.members.map(([name, { dtype, shape, begin, end }]) => {
      const data = bytes.subarray(begin - group.begin, end - group.begin);
      return [name, tensorFromBytes(dtype, shape, data, true) as Tensor]; // its data is what its dtype says
    });
  };

  async function* entries(
    names?: Iterable<string>,
    options: ReadOptions = {},
  ): AsyncGenerator<[string, Tensor]> {
    const { signal, onProgress, concurrency } = options;
    const wanted =
      names === undefined
        ? [...tensors]
        : [...new Set(names)].map((name): Member => [name, find(name)]);
    wanted.sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
    const total = wanted.reduce((sum, [, { begin, end }]) => sum + end - begin, 0);
    let loaded = 0;
    const tasks = groups(wanted).map((group) => ({
      bytes: group.end - group.begin,
      run: () => loadGroup(group, signal),
    }));
    for await (const group of inOrder(tasks, concurrency)) {
      for (const entry of group) {
        loaded += entry[1].data.byteLength;
        onProgress?.({ loaded, total, name: entry[0] });
        yield entry;
      }
    }
  }

  return {
    format: "safetensors",
    names: [...tensors.keys()],
    metadata,
    tensors,
    async info(name): Promise<TensorInfo> {
      const { dtype, shape, begin, end } = find(name);
      return { dtype, shape, byteLength: end - begin };
    },
    get: async (name, { signal } = {}) => load(find(name), signal),
    entries,
    async getAll(names, options) {
      const all = new Map<string, Tensor>();
      for await (const [name, tensor] of entries(names, options)) all.set(name, tensor);
      return all;
    },
    async *chunks(name, options = {}) {
      const { begin, end } = find(name);
      for (let at = begin; at < end; at += chunkSize) {
        options.signal?.throwIfAborted();
        yield await read(at, Math.min(chunkSize, end - at), options);
      }
    },
    async close() {
      await source.close?.();
    },
  };
}

type Member = [name: string, info: SafetensorsInfo];

/** Tensors that one read brings. */
interface Group {
  readonly begin: number;
  end: number;
  readonly members: Member[];
}

/** Small tensors that lie next to one another, together; larger ones alone. */
function groups(members: readonly Member[]): Group[] {
  const all: Group[] = [];
  let open: Group | undefined;
  for (const member of members) {
    const [, { begin, end }] = member;
    const small = end - begin < smallTensor;
    if (small && open !== undefined && begin === open.end && end - open.begin <= mergedRead) {
      open.members.push(member);
      open.end = end;
    } else {
      const group = { begin, end, members: [member] };
      all.push(group);
      open = small ? group : undefined;
    }
  }
  return all;
}
