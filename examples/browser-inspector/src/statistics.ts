import {
  type AnyTensor,
  type DType,
  dtypeInfo,
  type Tensor,
  type TensorFile,
  toFloat64,
} from "tensorjar";
import { breathe } from "./dom.js";
import { pieces } from "./numbers.js";

/** Tensors up to this many bytes are kept between the two passes, larger ones are read twice. */
const keptBytes = 64 << 20;

/** How many numbers lie from `low` to below `high`; the last bin has its end too, and one of a single number just that. */
export interface Bin {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** Of all numbers of a tensor; complex ones are two numbers each. */
export interface Statistics {
  readonly count: number;
  readonly zeros: number;
  readonly nans: number;
  readonly infinities: number;
  /** Of the finite numbers, undefined where there is none; in full for integers of 64 bits. */
  readonly min: number | bigint | undefined;
  readonly max: number | bigint | undefined;
  readonly mean: number | undefined;
  /** The standard deviation of the finite numbers as a whole population. */
  readonly deviation: number | undefined;
  /** Of the finite numbers. */
  readonly histogram: readonly Bin[];
}

/**
 * Statistics of one tensor in bounded memory, in two passes: the range and the mean, then the spread and the histogram.
 * `onProgress` is told which part of the work is done, from 0 to 1.
 */
export async function statistics(
  file: TensorFile<AnyTensor>,
  name: string,
  { dtype, byteLength }: { dtype: DType; byteLength: number },
  signal: AbortSignal,
  onProgress: (part: number) => void = () => {},
): Promise<Statistics> {
  const kept: Tensor[] = [];
  let done = 0;
  async function* numbers(): AsyncGenerator<readonly [Float64Array, Tensor]> {
    const read = kept.length > 0 ? kept : pieces(file, name, dtype, signal);
    for await (const piece of read) {
      if (read !== kept && byteLength <= keptBytes) kept.push(piece);
      yield [toFloat64(piece), piece];
      done += piece.data.byteLength;
      onProgress(byteLength === 0 ? 1 : done / (2 * byteLength));
      await breathe();
      signal.throwIfAborted();
    }
  }

  let count = 0;
  let none = 0;
  let nans = 0;
  let infinities = 0;
  let finite = 0;
  let mean = 0;
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  let exactLow: bigint | undefined;
  let exactHigh: bigint | undefined;
  for await (const [values, { data }] of numbers()) {
    count += values.length;
    for (const value of values) {
      if (Number.isFinite(value)) {
        finite += 1;
        mean += value / finite - mean / finite; // a difference could overflow
        if (value === 0) none += 1;
        if (value < low) low = value;
        if (value > high) high = value;
      } else if (Number.isNaN(value)) nans += 1;
      else infinities += 1;
    }
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
      for (const value of data) {
        if (exactLow === undefined || value < exactLow) exactLow = value;
        if (exactHigh === undefined || value > exactHigh) exactHigh = value;
      }
    }
  }
  const common = { count, zeros: none, nans, infinities };
  if (finite === 0) {
    const nothing = { min: undefined, max: undefined, mean: undefined, deviation: undefined };
    return { ...common, ...nothing, histogram: [] };
  }

  const { bins, place } = binning(low, high, dtypeInfo(dtype).kind);
  const counts = new Array<number>(bins.length).fill(0);
  const scale = Math.max(Math.abs(low), Math.abs(high)) || 1; // so that squares do not overflow
  let squares = 0;
  for await (const [values] of numbers()) {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      squares += (value / scale - mean / scale) ** 2;
      const bin = place(value);
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
  }
  return {
    ...common,
    min: exactLow ?? low,
    max: exactHigh ?? high,
    mean,
    deviation: scale * Math.sqrt(squares / finite),
    histogram: bins.map(([from, to], i) => ({ low: from, high: to, count: counts[i] ?? 0 })),
  };
}

const most = 64;

/** Equal ranges from `low` to `high`, and the one that a number lies in; few integers get one each. */
function binning(
  low: number,
  high: number,
  kind: string,
): { bins: (readonly [low: number, high: number])[]; place: (value: number) => number } {
  const whole = kind !== "float" && kind !== "complex";
  if (low === high || (whole && high - low < most)) {
    const bins = Array.from({ length: high - low + 1 }, (_, i) => [low + i, low + i] as const);
    return { bins, place: (value) => value - low };
  }
  // Halves, so that the range of float64 does not overflow.
  const half = high / 2 - low / 2;
  const edge = (i: number): number => (i === most ? high : low + (half / most) * i * 2);
  const bins = Array.from({ length: most }, (_, i) => [edge(i), edge(i + 1)] as const);
  const place = (value: number): number =>
    Math.min(most - 1, Math.floor(((value / 2 - low / 2) / half) * most));
  return { bins, place };
}
