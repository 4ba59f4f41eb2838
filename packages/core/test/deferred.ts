/** A promise that the test settles by hand. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((ok, no) => {
    resolve = ok;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** Lets everything run that waits for nothing but its turn. */
export async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}
