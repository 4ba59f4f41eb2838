/** Those who wait for each signal behind one listener of ours: Node warns of more than ten on a signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

function announce(this: AbortSignal): void {
  const callbacks = waiting.get(this);
  waiting.delete(this);
  for (const callback of callbacks ?? []) callback();
}

/** Calls `callback` when `signal` is aborted, until the function that it returns is called. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = waiting.get(signal) ?? new Set();
  if (callbacks.size === 0) {
    waiting.set(signal, callbacks);
    signal.addEventListener("abort", announce, { once: true });
  }
  const entry = (): void => callback(); // each call counts for itself, also with the same function
  callbacks.add(entry);
  return () => {
    if (!callbacks.delete(entry) || callbacks.size > 0 || waiting.get(signal) !== callbacks) return;
    waiting.delete(signal);
    signal.removeEventListener("abort", announce);
  };
}

/** Settles as `work` does, or rejects with `signal.reason` as soon as it is aborted, without waiting for `work`. */
export function abortable<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    const stop = onAbort(signal, abort);
    work.then(resolve, reject).finally(stop);
  });
}
