import { allocate } from "@tensorjar/core/codec";

/** What comes out of an inflater, as far as it fits in `length` bytes. */
export interface Output {
  add(part: Uint8Array): void;
  isFull(): boolean;
  bytes(): Uint8Array;
}

export function outputOf(length: number): Output {
  const out = allocate(length);
  let done = 0;
  return {
    add(part) {
      const fitting = part.subarray(0, length - done);
      out.set(fitting, done);
      done += fitting.length;
    },
    isFull: () => done === length,
    bytes: () => out.subarray(0, done),
  };
}
