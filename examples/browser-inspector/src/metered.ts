import type { ByteSource } from "tensorjar";

/** How many bytes were asked of the sources of a file. */
export class Meter {
  bytes = 0;
  readonly #listeners = new Set<() => void>();

  add(bytes: number): void {
    this.bytes += bytes;
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after every read, until the returned function is called. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** `source`, its reads counted; they reject once `signal` is aborted. Closing is left to whoever opened it. */
export function metered(source: ByteSource, meter: Meter, signal?: AbortSignal): ByteSource {
  return {
    size: source.size,
    async read(offset, length, options) {
      signal?.throwIfAborted();
      const bytes = await source.read(offset, length, options);
      meter.add(length);
      return bytes;
    },
  };
}
