/** Numbers in float32 and float64, with the sign of every NaN: engines may drop it where a NaN passes as a number. */

/** The same numbers in float64. */
export function widen(from: Float32Array, to: Float64Array): void {
  const bits = new Uint32Array(from.buffer, from.byteOffset, from.length);
  const words = new Uint32Array(to.buffer, to.byteOffset, 2 * from.length);
  for (let i = 0; i < from.length; i++) {
    const value = from[i] as number; // within the length
    to[i] = value;
    if (Number.isNaN(value)) {
      words[2 * i] = 0;
      words[2 * i + 1] = ((bits[i] as number) & 0x80000000) | 0x7ff80000;
    }
  }
}

/** To nearest even; past the range: infinity. */
export function narrow(from: Float64Array, to: Float32Array): void {
  const words = new Uint32Array(from.buffer, from.byteOffset, 2 * from.length);
  const bits = new Uint32Array(to.buffer, to.byteOffset, from.length);
  for (let i = 0; i < from.length; i++) {
    const value = from[i] as number; // within the length
    to[i] = value;
    if (Number.isNaN(value)) bits[i] = nanBits(words[2 * i + 1] as number);
  }
}

/** A quiet NaN with the sign of a float64's upper word. */
function nanBits(upper: number): number {
  return (upper & 0x80000000) | 0x7fc00000;
}
