import { type Bytes, type Sink, type SinkLike, TensorjarError } from "@tensorjar/core";
import { describe, namedEntries, toSink, writeChunks } from "@tensorjar/core/codec";
import { dropAliases } from "./aliases.js";
import { checkFileName } from "./shard-index.js";
import { planChunks } from "./write.js";
import {
  type CheckedEntry,
  checkedEntries,
  planEntries,
  type SafetensorsWriteOptions,
  type TensorEntries,
} from "./write-plan.js";

export interface ShardedWriteOptions extends SafetensorsWriteOptions {
  /** The most bytes of data in a shard (default 5,000,000,000); a larger tensor has a shard of its own. */
  maxShardBytes?: number;
  /** What file names start with (default `model`). */
  prefix?: string;
}

/**
 * Writes a model as the Hugging Face hub does: tensors in the order given, each shard filled up to `maxShardBytes`, as
 * `model-00001-of-00003.safetensors` and so on, then `model.safetensors.index.json`; when one file holds all, that is
 * `model.safetensors` and there is no index. `openSink` is called with each file name. The metadata goes into every
 * file, and into the index, where `total_size` is the bytes of all data.
 * No sink is closed before every shard is written, and the index is last; on any failure all that are not are aborted.
 * Rejects as {@link safetensorsChunks} throws, and with what a sink throws.
 */
export async function writeShardedSafetensors(
  openSink: (file: string) => SinkLike | Promise<SinkLike>,
  tensors: TensorEntries,
  options: ShardedWriteOptions = {},
): Promise<void> {
  const { maxShardBytes = 5_000_000_000, prefix = "model" } = options;
  if (typeof maxShardBytes !== "number" || !(maxShardBytes > 0)) {
    throw new TensorjarError("invalid-argument", `maxShardBytes is ${describe(maxShardBytes)}`, {
      hint: "give a number of bytes, such as 5_000_000_000",
    });
  }
  checkFileName(prefix);
  const metadata = new Map(namedEntries(options.metadata ?? [], "metadata"));
  const given = dropAliases(checkedEntries(tensors), options.aliases ?? "refuse", metadata);
  const shards = split(given, maxShardBytes);
  const names = shards.map((_, index) => shardName(prefix, index, shards.length));
  const plans = shards.map((entries) => planEntries(entries, metadata, options.dataAlignment));
  const index = shards.length > 1 ? indexText(shards, names, metadata) : undefined;

  const open: Sink[] = [];
  const start = async (name: string): Promise<Sink> => {
    const sink = toSink(await openSink(name));
    open.push(sink);
    return sink;
  };
  try {
    for (const [i, plan] of plans.entries()) {
      const sink = await start(names[i] ?? "");
      const { transient } = sink;
      await writeChunks(
        { transient, write: (chunk) => sink.write(chunk), close() {} },
        planChunks(plan),
      );
    }
    if (index !== undefined) await (await start(`${prefix}.safetensors.index.json`)).write(index);
    while (open[0] !== undefined) {
      await open[0].close();
      open.shift();
    }
  } catch (reason) {
    await Promise.allSettled(open.map(async (sink) => sink.abort?.(reason)));
    throw reason;
  }
}

/** In the order given, each shard filled while the next fits. */
function split(entries: readonly CheckedEntry[], limit: number): CheckedEntry[][] {
  const shards: CheckedEntry[][] = [];
  let current: CheckedEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if (entry.bytes > limit) {
      shards.push([entry]);
      continue;
    }
    if (bytes + entry.bytes > limit) {
      shards.push(current);
      current = [];
      bytes = 0;
    }
    current.push(entry);
    bytes += entry.bytes;
  }
  if (current.length > 0 || shards.length === 0) shards.push(current);
  return shards;
}

function shardName(prefix: string, index: number, count: number): string {
  const number = (n: number): string => `${n}`.padStart(5, "0");
  const suffix = count === 1 ? "" : `-${number(index + 1)}-of-${number(count)}`;
  return `${prefix}${suffix}.safetensors`;
}

/** As Python's json.dump writes it with an indent of two: escaped to ASCII, in this order, whatever the names. */
function indexText(
  shards: readonly CheckedEntry[][],
  names: readonly string[],
  metadata: ReadonlyMap<string, string>,
): Bytes {
  const text = (value: string): string =>
    JSON.stringify(value).replace(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  const object = (members: readonly string[]): string => `{\n    ${members.join(",\n    ")}\n  }`;
  const total = shards.flat().reduce((sum, { bytes }) => sum + bytes, 0);
  const about = [`"total_size": ${total}`];
  for (const [key, value] of metadata) {
    if (key !== "total_size") about.push(`${text(key)}: ${text(value)}`);
  }
  const map = shards.flatMap((entries, i) =>
    entries.map(({ name }) => `${text(name)}: ${text(names[i] ?? "")}`),
  );
  return new TextEncoder().encode(
    `{\n  "metadata": ${object(about)},\n  "weight_map": ${object(map)}\n}`,
  );
}
