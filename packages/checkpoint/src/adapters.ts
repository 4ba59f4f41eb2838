import type { Tensor } from "@tensorjar/core";
import type { LeafAdapter } from "@tensorjar/tree";

/** The same adapters, and whether one of them read asynchronously. */
export function watchAdapters(adapters: readonly LeafAdapter[]): {
  readonly adapters: readonly LeafAdapter[];
  readonly reads: { asynchronous: boolean };
} {
  const reads = { asynchronous: false };
  const watched = adapters.map(
    (adapter): LeafAdapter => ({
      is: (x): x is unknown => adapter.is(x),
      shape: (x) => adapter.shape(x),
      dtype: (x) => adapter.dtype(x),
      write: (x, tensor) => adapter.write(x, tensor),
      read(x) {
        const read: Tensor | Promise<Tensor> = adapter.read(x);
        reads.asynchronous ||= "then" in Object(read); // what is no tensor is refused with its path later
        return read;
      },
    }),
  );
  return { adapters: watched, reads };
}
