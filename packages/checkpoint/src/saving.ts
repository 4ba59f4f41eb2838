import type { CheckpointInfo } from "./retention.js";

/** What `save` returns: the checkpoint once it is durable, and the moment from which the state may change. */
export type Saving = Promise<CheckpointInfo> & {
  /** Resolves when the state was copied; without asynchronous adapters it has been when `save` returns. */
  readonly snapshotted: Promise<void>;
};

/** A promise that knows whether anyone waits for it. */
class WatchedPromise<T> extends Promise<T> {
  /** `then` and `await` give ordinary promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  watched = false;
  failed = false;
  snapshotted: Promise<void> = Promise.resolve();
  onWatched: (() => void) | undefined;

  // biome-ignore lint/suspicious/noThenProperty: the one way to learn that a promise is awaited
  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.watched = true;
    this.onWatched?.();
    return super.then(fulfilled, rejected);
  }
}

/** Keeps the first failure of a save that nobody waited for until someone asks. */
export class Failures {
  #unseen: { error: unknown; of: unknown } | undefined;

  /** Throws a failure that nobody has seen, once. */
  throwUnseen(): void {
    const unseen = this.#unseen;
    this.#unseen = undefined;
    if (unseen !== undefined) throw unseen.error;
  }

  /**
   * `work` as what `save` returns. A failure is kept here until the promise, or this object, is asked for it; that of
   * copying the state, which `snapshotted` rejects with too, until either is.
   */
  watch(work: Promise<CheckpointInfo>, snapshotted: Promise<void>): Saving {
    const seen = (): void => {
      if (this.#unseen?.of === saving) this.#unseen = undefined;
    };
    const copied = new WatchedPromise<void>((resolve, reject) => {
      snapshotted.then(resolve, (error: unknown) => {
        copied.failed = true;
        if (copied.watched) seen();
        reject(error);
      });
    });
    copied.onWatched = () => {
      if (copied.failed) seen();
    };
    const saving = new WatchedPromise<CheckpointInfo>((resolve, reject) => {
      work.then(resolve, (error: unknown) => {
        const awaited = saving.watched || (copied.failed && copied.watched);
        if (!awaited) this.#unseen ??= { error, of: saving };
        reject(error);
      });
    });
    saving.snapshotted = copied;
    saving.onWatched = seen;
    for (const promise of [saving, copied]) {
      Promise.prototype.then.call(promise, undefined, () => {}); // no unhandled rejection: see `throwUnseen`
    }
    return saving;
  }
}
