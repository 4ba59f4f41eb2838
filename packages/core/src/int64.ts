/**
 * 64-bit integers from the element `start` on as float64, without making a bigint of each: rounded to nearest even,
 * or, for rounding once more to a narrower float, with the last bit set wherever bits were lost.
 */
export function readInt64(
  tensor: {
    readonly dtype: "int64" | "uint64";
    readonly data: BigInt64Array | BigUint64Array;
  },
  start: number,
  to: Float64Array,
  rounding: "nearest" | "odd",
): void {
  const { buffer, byteOffset } = tensor.data;
  const low = new Uint32Array(buffer, byteOffset + 8 * start, 2 * to.length);
  const signed = tensor.dtype === "int64";
  for (let i = 0; i < to.length; i++) {
    const upper = low[2 * i + 1] as number; // within the length
    const high = signed ? upper | 0 : upper;
    let rest = low[2 * i] as number;
    // From 2^53 on a float64 ends at bit 11 at the lowest; below it nothing is lost.
    if (rounding === "odd" && Math.abs(high) >= 0x200000 && (rest & 0x7ff) !== 0) {
      rest = ((rest & ~0x7ff) | 0x800) >>> 0;
    }
    to[i] = high * 0x100000000 + rest;
  }
}

/** A bigint of any size in float64, as {@link readInt64} has it for `"odd"`. */
export function bigintToOdd(value: bigint): number {
  const magnitude = value < 0n ? -value : value;
  const spare = magnitude.toString(2).length - 60;
  if (spare <= 0) return toOdd(value);
  if (spare > 1000) return value < 0n ? -Infinity : Infinity;
  const cut = magnitude >> BigInt(spare);
  const sticky = cut << BigInt(spare) === magnitude ? cut : cut | 1n;
  return toOdd(value < 0n ? -sticky : sticky) * 2 ** spare;
}

function toOdd(value: bigint): number {
  const scratch = new Float64Array(1);
  readInt64({ dtype: "int64", data: BigInt64Array.of(value) }, 0, scratch, "odd");
  return scratch[0] as number; // set just now
}
