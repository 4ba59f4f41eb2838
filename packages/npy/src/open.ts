import {
  type AnyTensor,
  type ByteSource,
  type DType,
  type ReadOptions,
  type SourceLike,
  type TensorFile,
  TensorjarError,
  type TensorOf,
} from "@tensorjar/core";
import {
  abortable,
  allocate,
  describe,
  memoryFor,
  notThisFormat,
  quote,
  shapeText,
  toSource,
} from "@tensorjar/core/codec";
import type { NpyArray } from "./array.js";
import { fileChunks } from "./chunks.js";
import {
  arrayShape,
  checkDataSize,
  checkReadOptions,
  decodeData,
  type NpyReadOptions,
  voidDType,
} from "./decode.js";
import {
  headerEnd,
  headerPrefixLength,
  type NpyHeader,
  type NpyLayout,
  readLayout,
} from "./header.js";
import { bytesOf } from "./shape.js";

/** An open .npy file: one array, named `""`. */
export interface NpyFile<A extends AnyTensor = NpyArray> extends TensorFile<A> {
  readonly header: NpyHeader;
  /** The whole array. */
  read(options?: { signal?: AbortSignal }): Promise<A>;
  /**
   * The slice `start` to `stop` (exclusive) of the first axis, in one read of just its bytes. Rejects with
   * `unsupported` for strings and for arrays that lie in Fortran order, `invalid-argument` for rows that are not there.
   */
  rows(start: number, stop: number, options?: { signal?: AbortSignal }): Promise<A>;
  /** The array as slices of `size` rows, the last of what is left; rejects as `rows` does. */
  rowBatches(size: number, options?: { signal?: AbortSignal }): AsyncIterable<A>;
}

/**
 * Opens an .npy file; only its header is read, in at most two reads. With `dtype`, any other one is `invalid-dtype`.
 * What is read later is owned memory. Rejects with everything that `decodeNpy` throws, before any data is read.
 */
export function openNpy<D extends DType>(
  source: SourceLike,
  options: NpyReadOptions & { dtype: D },
): Promise<NpyFile<TensorOf<D>>>;
export function openNpy(
  source: SourceLike,
  options?: NpyReadOptions & { dtype?: DType },
): Promise<NpyFile>;
export async function openNpy(
  given: SourceLike,
  options: NpyReadOptions & { dtype?: DType } = {},
): Promise<NpyFile> {
  const source = await toSource(given);
  try {
    checkReadOptions(options);
    const layout = await readHeader(source, options);
    checkDataSize(layout, source.size);
    checkOrder(layout, options);
    const { header } = layout;
    const dtype = voidDType(layout.element, options) ?? header.dtype;
    if (options.dtype !== undefined && options.dtype !== dtype) {
      throw new TensorjarError(
        "invalid-dtype",
        `the file holds ${dtype} (descr ${quote(header.descr)}), not ${options.dtype}`,
        { expected: options.dtype, actual: dtype, hint: "open it without a dtype, then cast it" },
      );
    }
    return npyFile(source, layout, dtype, options);
  } catch (error) {
    if ("then" in given) await source.close?.().catch(() => {}); // the first error is the one to know
    throw error;
  }
}

async function readHeader(source: ByteSource, options: NpyReadOptions): Promise<NpyLayout> {
  const { size } = source;
  const start = await source.read(0, Math.min(size, headerPrefixLength));
  if (start[0] !== 0x93) {
    const more = await source.read(0, Math.min(size, 4096));
    const wrong = notThisFormat(more, "npy", "a NumPy .npy file");
    if (wrong) throw wrong;
  }
  const { dataOffset } = headerEnd(start, size, options);
  const header = allocate(Math.max(dataOffset, start.length));
  header.set(start);
  if (dataOffset > start.length) {
    header.set(await source.read(start.length, dataOffset - start.length), start.length);
  }
  return readLayout(header, options, size);
}

function npyFile(
  source: ByteSource,
  layout: NpyLayout,
  dtype: string,
  options: NpyReadOptions,
): NpyFile {
  const { header, element, byteLength } = layout;
  const shape = arrayShape(header, options);
  const [rowCount = 0, ...rowShape] = shape;

  const read = async (at: NpyLayout, offset: number, signal?: AbortSignal): Promise<NpyArray> => {
    signal?.throwIfAborted();
    const into = memoryFor(source, at.byteLength);
    const reading = source.read(offset, at.byteLength, { into, ...(signal && { signal }) });
    const bytes = await abortable(reading, signal);
    return decodeData(ownShape(at), bytes, options, bytes.buffer === into.buffer); // a source may not mind `into`
  };

  const rows: NpyFile["rows"] = async (start, stop, { signal } = {}) => {
    checkRows(header, shape, start, stop);
    const rowLayout: NpyLayout = {
      header: { ...header, fortranOrder: false, shape: [stop - start, ...rowShape] },
      element,
      count: bytesOf([stop - start, ...rowShape], 1),
      byteLength: bytesOf([stop - start, ...rowShape], element.itemSize),
    };
    return read(rowLayout, header.dataOffset + start * bytesOf(rowShape, element.itemSize), signal);
  };

  async function* batches(size: number, options?: { signal?: AbortSignal }) {
    checkRows(header, shape, 0, 0);
    for (let start = 0; start < rowCount; start += size) {
      yield await rows(start, Math.min(rowCount, start + size), options);
    }
  }

  async function* entries(
    names: Iterable<string> = [""],
    { signal, onProgress }: ReadOptions = {},
  ) {
    if (typeof names !== "object" || names === null || !(Symbol.iterator in names)) {
      throw new TensorjarError("invalid-argument", `names is ${describe(names)}, no list of names`);
    }
    for (const name of names) {
      checkName(name);
      const array = await read(layout, header.dataOffset, signal);
      onProgress?.({ loaded: byteLength, total: byteLength, name });
      const entry: [string, NpyArray] = [name, array];
      yield entry;
    }
  }

  return {
    format: "npy",
    names: [""],
    metadata: new Map(),
    header: ownShape(layout).header,
    async info(name) {
      checkName(name);
      return { dtype, shape: [...shape], byteLength };
    },
    async get(name, { signal } = {}) {
      checkName(name);
      return read(layout, header.dataOffset, signal);
    },
    entries,
    async *chunks(name, { signal } = {}) {
      checkName(name);
      yield* fileChunks(source, layout, options, signal);
    },
    close: async () => source.close?.(),
    read: ({ signal } = {}) => read(layout, header.dataOffset, signal),
    rows,
    rowBatches(size, options) {
      if (Number.isSafeInteger(size) && size > 0) return batches(size, options);
      throw new TensorjarError("invalid-argument", `batches of ${String(size)} rows`, {
        expected: "an integer from 1",
        actual: size,
      });
    },
  };
}

/** The same with a shape of its own: what callers do to theirs must not change the open file. */
function ownShape({ header, ...layout }: NpyLayout): NpyLayout {
  return { ...layout, header: { ...header, shape: [...header.shape] } };
}

function checkName(name: string): void {
  if (name === "") return;
  throw new TensorjarError(
    "not-found",
    `an .npy file holds one array, named "", not ${quote(name)}`,
    {
      name,
    },
  );
}

function checkOrder({ header }: NpyLayout, { fortranOrder }: NpyReadOptions): void {
  if (fortranOrder === "reject") arrayShape(header, { fortranOrder });
}

function checkRows(header: NpyHeader, shape: readonly number[], start: number, stop: number): void {
  const fortran = header.fortranOrder && shape.length > 1 && shape === header.shape;
  if (fortran || header.dtype === "string") {
    throw new TensorjarError(
      "unsupported",
      `rows of ${fortran ? "an array in Fortran order" : "strings"} cannot be read alone`,
      {
        hint: fortran
          ? 'read the whole array, or open it with fortranOrder: "reverse-shape", which gives its columns'
          : "read the whole array",
      },
    );
  }
  const [rowCount] = shape;
  if (rowCount === undefined) {
    throw new TensorjarError(
      "invalid-argument",
      "an array without axes has no rows: read it whole",
    );
  }
  if (
    !Number.isSafeInteger(start) ||
    !Number.isSafeInteger(stop) ||
    start < 0 ||
    stop < start ||
    stop > rowCount
  ) {
    throw new TensorjarError(
      "invalid-argument",
      `rows ${String(start)} to ${String(stop)} of an array of shape ${shapeText(shape)}`,
      { expected: `0 to ${rowCount}`, actual: [start, stop] },
    );
  }
}
