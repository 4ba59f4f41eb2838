/** A store whose operations can be made to fail, hang or write short; for tests only. */
import { memoryStore, type Store, TensorjarError } from "@tensorjar/checkpoint";

export interface FaultyStore extends Store {
  /** Operations so far. */
  readonly operations: number;
}

const fault = (): TensorjarError => new TensorjarError("io", "the disk is gone", { errno: "EIO" });

/** The `failing` operations fail; operations are calls, reads, listed names and written chunks, counted from 1. */
export function faultyStore(
  failing: (operation: number) => boolean,
  inner: Store = memoryStore(),
): FaultyStore {
  let operations = 0;
  const step = (): void => {
    operations++;
    if (failing(operations)) throw fault();
  };
  async function* written(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      step(); // a short write: what came before is on the disk, the rest is not
      yield chunk;
    }
    step(); // the commit
  }
  return {
    get operations() {
      return operations;
    },
    async stat(name) {
      step();
      return inner.stat(name);
    },
    async open(name) {
      step();
      const source = await inner.open(name);
      return {
        size: source.size,
        async read(...args) {
          step();
          return source.read(...args);
        },
      };
    },
    async *list(prefix) {
      step();
      for await (const entry of inner.list(prefix)) {
        step();
        yield entry;
      }
    },
    async put(name, chunks, options) {
      step();
      return inner.put(name, written(chunks), options);
    },
    async delete(name) {
      step();
      return inner.delete(name);
    },
    async lock() {
      step();
      return { release: async () => {} };
    },
  };
}

/** A store whose puts wait at their first chunk until they are let go, in order. */
export function gatedStore(inner: Store = memoryStore()): Store & { letOneGo(): Promise<void> } {
  const gates: (() => void)[] = [];
  let arrived: (() => void)[] = [];
  const gate = (): Promise<void> =>
    new Promise((resolve) => {
      gates.push(resolve);
      for (const wake of arrived) wake();
      arrived = [];
    });
  return {
    ...inner,
    /** Lets the next put go, once there is one. */
    async letOneGo() {
      while (gates.length === 0) await new Promise<void>((resolve) => arrived.push(resolve));
      gates.shift()?.();
    },
    async put(name, chunks, options) {
      await gate();
      return inner.put(name, chunks, options);
    },
  };
}
