import {
  type DType,
  dtypeInfo,
  elementCount,
  type Selection,
  sliceByteRanges,
  type Tensor,
  type TensorInfo,
  toFloat64,
} from "tensorjar";
import { bytesOf, zeroTensor } from "./numbers.js";
import type { OpenedFile } from "./opened-file.js";

/** Which part of a tensor is looked at: two axes, a range of each, and one index of every other axis. */
export interface View {
  /** Undefined where the tensor has no such axis: then there is one row, or one column. */
  readonly rows: Span | undefined;
  readonly columns: Span | undefined;
  /** One index for each axis; those of the two axes are not used. */
  readonly fixed: readonly number[];
}

/** Indices `start` to `stop` (exclusive) of an axis. */
export interface Span {
  readonly axis: number;
  readonly start: number;
  readonly stop: number;
}

/** Numbers at evenly spaced places of a view, in C order. */
export interface Slice {
  /** The index on the row axis of each row, and on the column axis of each column. */
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  readonly values: Float64Array;
  /** Integers of 64 bits in full. */
  readonly exact: BigInt64Array | BigUint64Array | undefined;
}

/** Cells along an axis that are shown at most. */
export const mostCells = 256;
/** Bytes that are read for whole rows at most; beyond, each cell is read by itself, and this many of them. */
const budgets = {
  here: { bytes: 16 << 20, reads: 1024 },
  remote: { bytes: 4 << 20, reads: 256 },
} as const;

/** The whole of a tensor's last two axes. */
export function wholeView(shape: readonly number[]): View {
  const last = shape.length - 1;
  const span = (axis: number): Span | undefined => {
    const stop = shape[axis];
    return stop === undefined ? undefined : { axis, start: 0, stop };
  };
  return { rows: span(last - 1), columns: span(last), fixed: shape.map(() => 0) };
}

/**
 * Reads the numbers of a view, at most `mostCells` along each axis. Of safetensors and .npy only these, or the rows
 * they lie in, are read; an array in an archive, in Fortran order or in a shard is read up to its last number shown.
 */
export async function readSlice(
  opened: OpenedFile,
  name: string,
  info: TensorInfo & { dtype: DType },
  view: View,
  signal: AbortSignal,
): Promise<Slice> {
  const { shape, dtype } = info;
  const { rows, columns } = view;
  const turned = rows !== undefined && columns !== undefined && rows.axis > columns.axis;
  const [outer, inner] = turned ? [columns, rows] : [rows, columns];
  const read = reader(opened, name, info, signal);
  const plan = planned(
    info,
    outer,
    inner,
    read.byRange ? budgets[opened.remote ? "remote" : "here"] : undefined,
  );
  const selection = shape.map((_, axis) => {
    if (axis === outer?.axis) return range(outer, plan.outerStep);
    if (axis === inner?.axis) return range(inner, plan.whole ? 1 : plan.innerStep);
    return plan.whole && inner !== undefined && axis > inner.axis ? null : (view.fixed[axis] ?? 0);
  });
  const tensor = await read(selection);

  const outerAt = indices(outer, plan.outerStep);
  const innerAt = indices(inner, plan.innerStep);
  const { components } = dtypeInfo(dtype);
  const all = toFloat64(tensor);
  const data: ArrayBufferView = tensor.data;
  const exactData =
    data instanceof BigInt64Array || data instanceof BigUint64Array ? data : undefined;
  // Where whole rows were read, a cell lies some columns and, within them, some trailing elements further on.
  const trailing = plan.whole && inner !== undefined ? shape.slice(inner.axis + 1) : [];
  const trail = elementCount(trailing);
  const offset = trailing.reduce((sum, length, i) => {
    return sum * length + (view.fixed[(inner?.axis ?? 0) + 1 + i] ?? 0);
  }, 0);
  const step = plan.whole ? plan.innerStep : 1;
  const width = plan.whole && inner !== undefined ? inner.stop - inner.start : innerAt.length;
  const values = new Float64Array(outerAt.length * innerAt.length);
  const exact = exactData && new BigInt64Array(values.length);
  for (let i = 0; i < outerAt.length; i++) {
    for (let j = 0; j < innerAt.length; j++) {
      const from = (i * width + j * step) * trail + offset;
      const to = turned ? j * outerAt.length + i : i * innerAt.length + j;
      values[to] =
        components === 1
          ? (all[from] ?? Number.NaN)
          : Math.hypot(all[2 * from] ?? Number.NaN, all[2 * from + 1] ?? Number.NaN);
      if (exact !== undefined) exact[to] = exactData?.[from] ?? 0n;
    }
  }
  return {
    rows: turned ? innerAt : outerAt,
    columns: turned ? outerAt : innerAt,
    values,
    exact: exactData instanceof BigUint64Array && exact ? new BigUint64Array(exact.buffer) : exact,
  };
}

/** Whether a slice of a tensor can be read without what lies before it. */
export function readsByRange({ opened }: OpenedFile): boolean {
  return opened.kind === "safetensors" || (opened.kind === "npy" && liesPlain(opened.file.header));
}

interface Plan {
  readonly outerStep: number;
  readonly innerStep: number;
  /** Whether the inner axis is read without gaps, with all that lies behind it. */
  readonly whole: boolean;
}

/** Without a budget the tensor passes by as a whole anyway. */
function planned(
  { shape, dtype }: TensorInfo & { dtype: DType },
  outer: Span | undefined,
  inner: Span | undefined,
  budget: { readonly bytes: number; readonly reads: number } | undefined,
): Plan {
  const outerStep = stepOf(outer, mostCells);
  const innerStep = stepOf(inner, mostCells);
  if (budget === undefined) return { outerStep, innerStep, whole: false };
  const trail = inner === undefined ? 1 : elementCount(shape.slice(inner.axis + 1));
  const row = (lengthOf(inner) * trail * dtypeInfo(dtype).bits) / 8;
  if (row * cells(outer, outerStep) <= budget.bytes) return { outerStep, innerStep, whole: true };
  const few = Math.max(
    Math.floor(Math.sqrt(budget.reads)),
    Math.floor(budget.reads / Math.min(cells(outer, outerStep), cells(inner, innerStep))),
  );
  const most = Math.min(mostCells, few);
  return { outerStep: stepOf(outer, most), innerStep: stepOf(inner, most), whole: false };
}

const lengthOf = (span: Span | undefined): number =>
  span === undefined ? 1 : span.stop - span.start;
const stepOf = (span: Span | undefined, most: number): number =>
  Math.max(1, Math.ceil(lengthOf(span) / most));
const cells = (span: Span | undefined, step: number): number => Math.ceil(lengthOf(span) / step);
const range = ({ start, stop }: Span, step: number) => ({ start, stop, step });

function indices(span: Span | undefined, step: number): number[] {
  return Array.from({ length: cells(span, step) }, (_, i) => (span?.start ?? 0) + i * step);
}

interface Reader {
  (selection: Selection): Promise<Tensor>;
  /** Whether just the bytes of the selection are read. */
  readonly byRange: boolean;
}

function reader(
  { opened }: OpenedFile,
  name: string,
  { dtype, shape }: TensorInfo & { dtype: DType },
  signal: AbortSignal,
): Reader {
  const { kind, file } = opened;
  if (kind === "safetensors") {
    const read = (selection: Selection) => file.slice(name, selection, { signal });
    return Object.assign(read, { byRange: true });
  }
  if (kind === "npy" && liesPlain(file.header)) {
    const { source } = opened;
    const { dataOffset } = file.header;
    const read = async (selection: Selection): Promise<Tensor> => {
      const { ranges, shape: selected } = sliceByteRanges(dtype, shape, selection);
      const tensor = zeroTensor(selected, dtype);
      let filled = 0;
      const reads = ranges.map(async ([begin, end]) => {
        const into = bytesOf(tensor).subarray(filled, filled + end - begin);
        filled += into.length;
        into.set(await source.read(dataOffset + begin, end - begin, { signal }));
      });
      await Promise.all(reads);
      return tensor;
    };
    return Object.assign(read, { byRange: true });
  }
  const read = async (selection: Selection): Promise<Tensor> => {
    const { ranges, shape: selected } = sliceByteRanges(dtype, shape, selection);
    const tensor = zeroTensor(selected, dtype);
    const into = bytesOf(tensor);
    let filled = 0;
    let next = 0;
    let offset = 0;
    for await (const chunk of file.chunks(name, { signal })) {
      const chunkEnd = offset + chunk.length;
      while (next < ranges.length) {
        const [begin, end] = ranges[next] ?? [0, 0];
        const part = chunk.subarray(Math.max(0, begin - offset), Math.max(0, end - offset));
        into.set(part, filled);
        filled += part.length;
        if (end > chunkEnd) break;
        next += 1;
      }
      if (next === ranges.length) break;
      offset = chunkEnd;
    }
    return tensor;
  };
  return Object.assign(read, { byRange: false });
}

/** Whether the data of an .npy file lies as it is wanted: C order, little-endian. */
function liesPlain(header: {
  readonly descr: string;
  readonly fortranOrder: boolean;
  readonly shape: readonly number[];
}): boolean {
  return !header.descr.startsWith(">") && (!header.fortranOrder || header.shape.length < 2);
}
