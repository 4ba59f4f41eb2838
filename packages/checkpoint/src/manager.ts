import { type Bytes, type Chunks, isTensorjarError, TensorjarError } from "@tensorjar/core";
import { allocate, describe, quote } from "@tensorjar/core/codec";
import { watchAdapters } from "./adapters.js";
import { Catalog, fileName, metricsOf } from "./catalog.js";
import type { Checkpoints, CheckpointsOptions } from "./checkpoints.js";
import type { CheckpointFormat } from "./format.js";
import { candidates, checkNamed, findCheckpoint, type Skipped, type Which } from "./recovery.js";
import { type RestoreOptions, restoreSnapshot } from "./restore.js";
import { type CheckpointInfo, checkPolicy, keepLatest, type RetentionPolicy } from "./retention.js";
import { safetensorsCheckpoint } from "./safetensors-format.js";
import { Failures, type Saving } from "./saving.js";
import { copySnapshot, type Snapshot, type SnapshotOptions, stagingBytes } from "./snapshot.js";
import { readState, readStateAsync, type TrainingState } from "./state.js";
import type { Store, StoreLock } from "./store.js";

/**
 * Manages the checkpoints in a store. Nothing is read or locked before it is needed; only saving takes the lock.
 * Throws `invalid-argument`.
 */
export function openCheckpoints(store: Store, options: CheckpointsOptions = {}): Checkpoints {
  return new Manager(store, options);
}

/** A state that was copied, and the file it makes. */
interface Captured {
  readonly snapshot: Snapshot;
  readonly file: Chunks | AsyncIterable<Bytes>;
}

class Manager implements Checkpoints {
  readonly #store: Store;
  readonly #format: CheckpointFormat;
  readonly #keep: RetentionPolicy;
  readonly #onBusy: "wait" | "skip" | "error";
  readonly #options: SnapshotOptions;
  readonly #catalog: Catalog;
  readonly #failures = new Failures();
  readonly #damaged = new Set<string>();
  #lock: StoreLock | undefined;
  #staging: Bytes | undefined;
  #underWay = 0;
  #last: Promise<unknown> = Promise.resolve();
  #current: Promise<CheckpointInfo> | undefined;
  #restored: number | undefined;
  #uncleaned: unknown;
  #closed: Promise<void> | undefined;
  #asynchronous = false;

  constructor(store: Store, options: CheckpointsOptions) {
    const {
      format = safetensorsCheckpoint,
      keep = keepLatest(3),
      onBusy = "wait",
      ...rest
    } = options;
    checkMethods(
      store,
      "the store",
      ["stat", "open", "list", "put", "delete"],
      "folderStore(path)",
    );
    checkMethods(format, "format", ["chunks", "load", "inspect"], "safetensorsCheckpoint");
    if (rest.adapters !== undefined && !Array.isArray(rest.adapters)) {
      throw new TensorjarError("invalid-argument", `adapters is ${describe(rest.adapters)}`, {
        name: "adapters",
        hint: "give an array",
      });
    }
    checkPolicy(keep, "keep");
    if (!["wait", "skip", "error"].includes(onBusy)) {
      throw new TensorjarError("invalid-argument", `onBusy is ${describe(onBusy)}`, {
        name: "onBusy",
        hint: 'give "wait", "skip" or "error"',
      });
    }
    this.#store = store;
    this.#format = format;
    this.#keep = keep;
    this.#onBusy = onBusy;
    this.#options = rest;
    this.#catalog = new Catalog(store, format);
  }

  save(state: TrainingState): Saving {
    try {
      this.#begin();
      const busy = this.#underWay > 0 ? this.#current : undefined;
      if (busy !== undefined && this.#onBusy !== "wait") {
        if (this.#onBusy === "error") {
          throw new TensorjarError("locked", "a save is still under way", {
            hint: 'await it, or open with onBusy: "wait" or "skip"',
          });
        }
        return new Failures().watch(busy, Promise.resolve()); // reported by the save under way
      }
      return this.#enqueue(this.#capture(state));
    } catch (error) {
      const failed = Promise.reject(error);
      return this.#failures.watch(failed, failed);
    }
  }

  /** The file of the state as it is now. Everything that takes long with many tensors is done before this returns. */
  #capture(state: TrainingState): Captured | Promise<Captured> {
    const wasFree = this.#underWay === 0;
    const copy = (live: Snapshot): Captured => {
      const bytes = stagingBytes(live);
      let staging = wasFree ? this.#staging : undefined;
      if (staging === undefined || staging.length < bytes) {
        staging = allocate(bytes);
        if (wasFree) this.#staging = staging;
      }
      const snapshot = copySnapshot(live, staging);
      return { snapshot, file: this.#format.chunks(snapshot, this.#options) };
    };
    if (this.#asynchronous) return readStateAsync(state, this.#options).then(copy);
    const { adapters, reads } = watchAdapters(this.#options.adapters ?? []);
    try {
      return copy(readState(state, { ...this.#options, adapters }));
    } catch (error) {
      if (!reads.asynchronous) throw error;
      this.#asynchronous = true;
      return readStateAsync(state, this.#options).then(copy);
    }
  }

  #enqueue(captured: Captured | Promise<Captured>): Saving {
    this.#underWay++;
    const before = this.#last;
    const work = (async () => {
      try {
        await before;
        return await this.#write(await captured);
      } finally {
        this.#underWay--;
      }
    })();
    this.#current = work;
    this.#last = work.catch(() => {});
    const snapshotted = Promise.all([captured, before]).then(() => {});
    return this.#failures.watch(work, snapshotted);
  }

  async #write({ snapshot, file }: Captured): Promise<CheckpointInfo> {
    this.#lock ??= await this.#store.lock?.("checkpoints");
    await this.#checkLock();
    const { step, metrics } = snapshot;
    const name = fileName(step, this.#format.extension);
    const replaced = Boolean(await this.#store.stat(name));
    const size = "byteLength" in file ? { size: file.byteLength } : {};
    const counted = { bytes: 0, whole: false };
    await this.#store.put(
      name,
      this.#guarded("chunks" in file ? file.chunks : file, counted),
      size,
    );
    this.#damaged.delete(name);
    const info: CheckpointInfo = {
      step,
      name,
      size: counted.bytes,
      ...metricsOf(metrics),
      ...(replaced ? { replaced } : {}),
    };
    const taken = counted.whole || counted.bytes === size.size;
    if (taken && (await this.#settle(info))) return info;
    this.#damaged.add(name);
    throw new TensorjarError("io", `the store did not keep all of ${quote(name)}`, { name });
  }

  /** A writer that lost its lock must not commit. */
  async #checkLock(): Promise<void> {
    const lock = this.#lock;
    try {
      await lock?.check?.();
    } catch (error) {
      this.#lock = undefined;
      // A lock that was lost is another's. Otherwise it may still be held, and would be in the way of the next save.
      if (!isTensorjarError(error, "locked")) await release(lock).catch(() => {});
      throw error;
    }
  }

  async *#guarded(
    chunks: AsyncIterable<Bytes>,
    counted: { bytes: number; whole: boolean },
  ): AsyncGenerator<Bytes, void, undefined> {
    for await (const chunk of chunks) {
      counted.bytes += chunk.length;
      yield chunk;
    }
    await this.#checkLock();
    counted.whole = true;
  }

  /**
   * Tidies up after a save, and resolves to whether the store has all of it. A failure of tidying up does not undo the
   * save: it is tried again after the next, and told by `flush`.
   */
  async #settle(saved: CheckpointInfo): Promise<boolean> {
    try {
      const stored = await this.#catalog.wrote(saved);
      if (stored !== undefined && stored !== saved.size) return false;
      await this.#clean(saved);
      this.#uncleaned = undefined;
    } catch (error) {
      this.#uncleaned = error;
    }
    return true;
  }

  /** Deletes what need not stay. */
  async #clean(saved: CheckpointInfo): Promise<void> {
    const listed = await this.#catalog.infos();
    const good = listed
      .filter(({ info, readable }) => readable && !this.#damaged.has(info.name))
      .map(({ info }) => info);
    const kept = this.#keep(good);
    if (typeof kept?.has !== "function") {
      throw new TensorjarError("invalid-argument", `keep returned ${describe(kept)}`, {
        name: "keep",
        hint: "return the Set of the steps to keep",
      });
    }
    const newest = good.at(-1)?.step;
    for (const { step, name } of good) {
      if (kept.has(step) || step === saved.step) continue;
      if (step === newest || step === this.#restored) continue;
      await this.#store.delete(name);
    }
  }

  async restore(
    state: TrainingState,
    { which, ...options }: RestoreOptions & { which?: Which } = {},
  ): Promise<{ step: number; snapshot: Snapshot; skipped: readonly Skipped[] } | undefined> {
    const { compression: _, ...own } = this.#options;
    const found = await this.#find(which, options);
    if (found === undefined) return undefined;
    const { snapshot, skipped } = found;
    restoreSnapshot(snapshot, state, { ...own, ...options });
    this.#restored = snapshot.step;
    return { step: snapshot.step, snapshot, skipped };
  }

  load(which?: Which): Promise<{ snapshot: Snapshot; skipped: readonly Skipped[] } | undefined> {
    return this.#find(which, {});
  }

  async #find(
    which: Which | undefined,
    options: RestoreOptions,
  ): Promise<{ snapshot: Snapshot; skipped: readonly Skipped[] } | undefined> {
    await this.#idle();
    const found = await findCheckpoint(this.#store, this.#format, this.#catalog, which, options);
    for (const { name } of found?.skipped ?? []) this.#damaged.add(name);
    return found;
  }

  async list(): Promise<readonly CheckpointInfo[]> {
    await this.#idle();
    return (await this.#catalog.infos()).map(({ info }) => info);
  }

  async verify(which: Which = "latest"): Promise<CheckpointInfo> {
    await this.#idle();
    const [first] = await candidates(this.#catalog, which);
    if (first === undefined) {
      throw new TensorjarError("not-found", "there is no checkpoint to verify");
    }
    const source = this.#store.open(first.name);
    const verified = await (this.#format.verify?.(source) ?? this.#format.load(source));
    checkNamed(first, verified.step);
    return { ...first, ...metricsOf(verified.metrics) };
  }

  async flush(): Promise<void> {
    await this.#idle();
    const failure = this.#uncleaned;
    this.#uncleaned = undefined;
    if (failure !== undefined) throw failure;
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    await this.#last;
    const lock = this.#lock;
    this.#lock = undefined;
    this.#staging = undefined;
    await lock?.release();
    this.#failures.throwUnseen();
    if (this.#uncleaned !== undefined) throw this.#uncleaned;
  }

  #begin(): void {
    this.#failures.throwUnseen();
    if (this.#closed === undefined) return;
    throw new TensorjarError("invalid-argument", "these checkpoints were closed before", {
      hint: "open them again with openCheckpoints",
    });
  }

  async #idle(): Promise<void> {
    this.#begin();
    await this.#last;
    this.#failures.throwUnseen();
  }
}

async function release(lock: StoreLock | undefined): Promise<void> {
  await lock?.release();
}

/** Throws `invalid-argument` for what lacks a method. */
function checkMethods(
  given: unknown,
  what: string,
  methods: readonly string[],
  hint: string,
): void {
  const lacks = methods.find(
    (method) =>
      typeof given !== "object" ||
      given === null ||
      typeof Reflect.get(given, method) !== "function",
  );
  if (lacks === undefined) return;
  throw new TensorjarError(
    "invalid-argument",
    `${what} is ${describe(given)}, which has no method ${lacks}`,
    { name: what, hint: `give one such as ${hint}` },
  );
}
