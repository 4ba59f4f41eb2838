import {
  type BytesLike,
  isTensorjarError,
  type ReadOptions,
  type SourceLike,
  type Tensor,
  type TensorFile,
  TensorjarError,
} from "@tensorjar/core";
import { abortable, quote, tensorBytes, tensorFromBytes, toSource } from "@tensorjar/core/codec";
import { lookUp, nameSet } from "./names.js";
import { openSafetensors, type SafetensorsFile } from "./open.js";
import { parseShardIndex } from "./shard-index.js";

/** Where a name's tensor is: what its shard calls it, and the shard's file name. */
interface Place {
  readonly name: string;
  readonly file: string;
}

/**
 * Opens a sharded model by the text of its `model.safetensors.index.json`. `openShard` is called with a shard's file
 * name, without any folder, when one of its tensors is first asked for, and once. `names` are those of the index, then
 * the names that its metadata records as other names of a tensor.
 * Rejects with `not-this-format`, `invalid-utf8`, `invalid-header`, `duplicate-name`, and `invalid-name` for a shard
 * that is no plain file name. What it opens rejects as {@link openSafetensors}, naming the shard, and with `not-found`
 * for a shard that lacks a tensor that the index has in it.
 */
export async function openShardedSafetensors(
  indexText: string | BytesLike,
  openShard: (file: string) => SourceLike,
): Promise<TensorFile> {
  const { files, metadata } = parseShardIndex(indexText);
  const places = new Map<string, Place>();
  const mapped = new Map<string, string[]>(); // the names that the index has in each shard
  for (const [name, file] of files) {
    places.set(name, { name, file });
    const others = mapped.get(file);
    if (others === undefined) mapped.set(file, [name]);
    else others.push(name);
  }
  for (const [alias, name] of metadata) {
    const file = files.get(name);
    if (file !== undefined && !files.has(alias)) places.set(alias, { name, file });
  }

  const shards = new Map<string, Promise<SafetensorsFile>>();
  const shard = (file: string, signal?: AbortSignal): Promise<SafetensorsFile> => {
    signal?.throwIfAborted();
    let opening = shards.get(file);
    if (opening === undefined) {
      opening = open(file);
      shards.set(file, opening);
      opening.catch(() => shards.delete(file)); // so that asking again tries again
    }
    return abortable(opening, signal);
  };
  const open = async (file: string): Promise<SafetensorsFile> => {
    const opened = await ofShard(file, async () => {
      const source = openShard(file);
      return openSafetensors((async () => toSource(source))()); // as a promise, which is closed when this fails
    });
    for (const name of mapped.get(file) ?? []) {
      if (opened.tensors.has(name)) continue;
      await opened.close();
      throw new TensorjarError(
        "not-found",
        `the index has tensor ${quote(name)} in ${quote(file)}, which has no such tensor`,
        { name, path: file },
      );
    }
    return opened;
  };

  async function* entries(
    names?: Iterable<string>,
    options: ReadOptions = {},
  ): AsyncGenerator<[string, Tensor]> {
    const { onProgress, ...rest } = options;
    const { signal } = rest;
    signal?.throwIfAborted();
    const asked = new Map<string, Map<string, string[]>>();
    for (const name of nameSet(names ?? places.keys())) {
      const place = lookUp(places, name);
      const inShard = asked.get(place.file) ?? new Map<string, string[]>();
      const others = inShard.get(place.name);
      if (others === undefined) inShard.set(place.name, [name]);
      else others.push(name);
      asked.set(place.file, inShard);
    }
    let total = 0;
    if (onProgress !== undefined) {
      for (const [file, inShard] of asked)
        total += (await shard(file, signal)).footprint(inShard.keys());
    }
    let loaded = 0;
    for (const [file, inShard] of asked) {
      const opened = await shard(file, signal);
      for await (const [real, tensor] of opened.entries(inShard.keys(), rest)) {
        loaded += tensor.data.byteLength;
        for (const [index, name] of (inShard.get(real) ?? []).entries()) {
          signal?.throwIfAborted();
          onProgress?.({ loaded, total, name });
          yield [name, index === 0 ? tensor : ownCopy(tensor)];
        }
      }
    }
  }

  const locate = async (name: string, signal?: AbortSignal): Promise<[SafetensorsFile, string]> => {
    const place = lookUp(places, name);
    return [await shard(place.file, signal), place.name];
  };
  return {
    format: "safetensors",
    names: [...places.keys()],
    metadata,
    async info(name) {
      const [file, real] = await locate(name);
      return file.info(real);
    },
    async get(name, options) {
      const [file, real] = await locate(name, options?.signal);
      return file.get(real, options);
    },
    entries,
    async *chunks(name, options) {
      const [file, real] = await locate(name, options?.signal);
      yield* file.chunks(real, options);
    },
    async close() {
      const opened = await Promise.allSettled(shards.values());
      const closed = await Promise.allSettled(
        opened.map((one) => one.status === "fulfilled" && one.value.close()),
      );
      for (const one of closed) if (one.status === "rejected") throw one.reason; // after all are
    },
  };
}

function ownCopy({ dtype, shape, data }: Tensor): Tensor {
  return tensorFromBytes(dtype, shape, tensorBytes({ data }), true) as Tensor; // its data is what its dtype says
}

/** Runs `work`, whose errors then name the shard. */
async function ofShard<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!isTensorjarError(cause)) throw cause;
    const { hint, ...details } = cause.details; // the message has the hint
    throw new TensorjarError(
      cause.code,
      `shard ${quote(file)}: ${cause.message}`,
      { path: file, ...details },
      { cause },
    );
  }
}
