import { isTensorjarError, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import type { CheckpointFormat } from "./format.js";
import { mayPass } from "./patience.js";
import type { CheckpointInfo } from "./retention.js";
import type { Store, StoreEntry } from "./store.js";

/** What a folder may hold besides the format it is opened with. */
const containers = [".safetensors", ".npz"];

/** What a checkpoint of a step is called. */
export function fileName(step: number, extension: string): string {
  return `step-${String(step).padStart(12, "0")}${extension}`;
}

/** The step of a file of ours; `undefined` for any other name. */
function stepOf(name: string, extension: string): number | undefined {
  const step = Number(/^step-(\d{12,16})/.exec(name)?.[1]);
  return Number.isSafeInteger(step) && name === fileName(step, extension) ? step : undefined;
}

/** A checkpoint as the store lists it, and what its header says where that could be read. */
export interface Listed {
  readonly info: CheckpointInfo;
  readonly readable: boolean;
}

/** The checkpoints of one format in a store; every header is read once. */
export class Catalog {
  readonly #store: Store;
  readonly #format: CheckpointFormat;
  readonly #read = new Map<string, { key: string; metrics: CheckpointInfo["metrics"] }>();

  constructor(store: Store, format: CheckpointFormat) {
    this.#store = store;
    this.#format = format;
  }

  /** By step, the lowest first. Rejects with `not-this-format` where there are checkpoints, but of another container. */
  async files(): Promise<(StoreEntry & { readonly step: number })[]> {
    const { extension } = this.#format;
    // By step: pages of a bucket may list a file twice, which must not count twice in what stays.
    const files = new Map<number, StoreEntry & { readonly step: number }>();
    let other: string | undefined;
    for await (const entry of this.#store.list("step-")) {
      const step = stepOf(entry.name, extension);
      if (step !== undefined) files.set(step, { ...entry, step });
      else if (containers.some((ext) => stepOf(entry.name, ext) !== undefined)) other = entry.name;
    }
    if (files.size === 0 && other !== undefined) {
      throw new TensorjarError(
        "not-this-format",
        `the store has no checkpoint ending in ${extension}, but ${quote(other)}`,
        { name: other, expected: extension, hint: "open it with the `format` it was written in" },
      );
    }
    return [...files.values()].sort((a, b) => a.step - b.step);
  }

  /** By step, the lowest first, with the metrics of those whose header is whole. */
  async infos(): Promise<Listed[]> {
    const listed: Listed[] = [];
    for (const { name, step, size, modified } of await this.files()) {
      const key = `${size} ${modified}`;
      let known = this.#read.get(name);
      if (known?.key !== key) {
        known = await this.#inspect(name, key);
        if (known === undefined) this.#read.delete(name);
        else this.#read.set(name, known);
      }
      listed.push({
        info: { step, name, size, ...metricsOf(known?.metrics) },
        readable: known !== undefined,
      });
    }
    return listed;
  }

  async #inspect(
    name: string,
    key: string,
  ): Promise<{ key: string; metrics: CheckpointInfo["metrics"] } | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const { metrics } = await this.#format.inspect(this.#store.open(name));
        return { key, metrics };
      } catch (error) {
        if (!isTensorjarError(error)) throw error;
        if (!mayPass(error, attempt)) return undefined;
      }
    }
  }

  /** What was just written needs no reading. Resolves to the bytes that the store has of it, where it tells. */
  async wrote(info: CheckpointInfo): Promise<number | undefined> {
    const now = (await this.#store.stat(info.name)) ?? undefined;
    if (now === undefined) return undefined;
    if (now.size === info.size) {
      this.#read.set(info.name, { key: `${now.size} ${now.modified}`, metrics: info.metrics });
    }
    return now.size;
  }
}

export function metricsOf(metrics: CheckpointInfo["metrics"]): Pick<CheckpointInfo, "metrics"> {
  return metrics === undefined ? {} : { metrics };
}
