interface Sliceable<T> {
  readonly length: number;
  subarray(start: number, end: number): T;
}

/**
 * Elements that a loop over typed arrays gets at a time. A function that is called again and again is compiled as a
 * whole after its first pieces, and the indices stay below 2^31: `i | 1` is the next one then, without a check that a
 * sum passes 32 bits.
 */
const piece = 16384;

/** Calls `convert` with one piece after another of two arrays of the same length. */
export function inPieces<From extends Sliceable<From>, To extends Sliceable<To>>(
  from: From,
  to: To,
  convert: (from: From, to: To) => void,
): void {
  for (let start = 0; start < from.length; start += piece) {
    convert(from.subarray(start, start + piece), to.subarray(start, start + piece));
  }
}
