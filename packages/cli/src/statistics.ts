import { type AnyTensor, type DType, type TensorFile, toFloat64 } from "tensorjar";
import { pieces } from "./elements.js";

const bins = 16;

export interface Statistics {
  /** The smallest and largest of all numbers but NaNs; of both parts of complex ones. Undefined when there is none. */
  readonly min: number | bigint | undefined;
  readonly max: number | bigint | undefined;
  /** Of the finite numbers. */
  readonly mean: number | undefined;
  readonly nans: number;
  readonly infinities: number;
  /** How many finite numbers lie in each sixteenth of the range from the smallest to the largest of them. */
  readonly histogram: readonly number[];
}

/** Reads a tensor twice, in bounded memory: for its range, then for its histogram. */
export async function statistics(
  file: TensorFile<AnyTensor>,
  name: string,
  info: { dtype: DType; byteLength: number },
  onBytes: (bytes: number) => void,
): Promise<Statistics> {
  let nans = 0;
  let infinities = 0;
  let finite = 0;
  let sum = 0;
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  let exactLow: bigint | undefined;
  let exactHigh: bigint | undefined;
  for await (const piece of pieces(file, name, info)) {
    for (const value of toFloat64(piece)) {
      if (Number.isFinite(value)) {
        finite += 1;
        sum += value;
        if (value < low) low = value;
        if (value > high) high = value;
      } else if (Number.isNaN(value)) nans += 1;
      else infinities += 1;
    }
    const data: ArrayBufferView = piece.data;
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
      for (const value of data) {
        if (exactLow === undefined || value < exactLow) exactLow = value;
        if (exactHigh === undefined || value > exactHigh) exactHigh = value;
      }
    }
    onBytes(piece.data.byteLength);
  }
  if (finite === 0)
    return { min: undefined, max: undefined, mean: undefined, nans, infinities, histogram: [] };

  const histogram = new Array<number>(bins).fill(0);
  // Halves, so that the range of float64 does not overflow.
  const scale = high === low ? 0 : bins / (high / 2 - low / 2) / 2;
  for await (const piece of pieces(file, name, info)) {
    for (const value of toFloat64(piece)) {
      if (!Number.isFinite(value)) continue;
      const bin = Math.min(bins - 1, Math.floor((value / 2 - low / 2) * 2 * scale));
      histogram[bin] = (histogram[bin] ?? 0) + 1;
    }
    onBytes(piece.data.byteLength);
  }
  return {
    min: exactLow ?? low,
    max: exactHigh ?? high,
    mean: sum / finite,
    nans,
    infinities,
    histogram,
  };
}

/** A histogram as a row of blocks, the highest full. */
export function sparkline(histogram: readonly number[]): string {
  const highest = Math.max(...histogram, 0);
  return histogram
    .map((count) => (count === 0 ? " " : ("▁▂▃▄▅▆▇█"[Math.ceil((count / highest) * 8) - 1] ?? "▁")))
    .join("");
}
