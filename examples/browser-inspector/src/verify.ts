import { isTensorjarError, type TensorjarError, toFloat64, verifyCheckpoint } from "tensorjar";
import { breathe } from "./dom.js";
import { Meter, metered } from "./metered.js";
import { isNumeric, pieces } from "./numbers.js";
import { infoOf, type OpenedFile } from "./opened-file.js";

export interface Verdict {
  /** What is damaged, by name; the name is "" for the file as a whole. */
  readonly faults: readonly (readonly [name: string, error: TensorjarError])[];
  /** Tensors with NaNs or infinities, and how many they have. */
  readonly notFinite: readonly (readonly [name: string, count: number])[];
  /** How many tensors could be read. */
  readonly readable: number;
}

/**
 * Reads a file to its last byte, with every checksum it has, and looks for numbers that are none.
 * `onProgress` is told which part is done, from 0 to 1, and the tensor at hand.
 */
export async function verify(
  opened: OpenedFile,
  signal: AbortSignal,
  onProgress: (part: number, name: string) => void,
): Promise<Verdict> {
  const { file, kind } = opened.opened;
  const faults: (readonly [string, TensorjarError])[] = [];
  const notFinite: (readonly [string, number])[] = [];
  const damaged = (name: string, error: unknown): void => {
    if (!isTensorjarError(error)) throw error;
    faults.push([name, error]);
  };
  const other = kind === "npz" ? file.members.filter(({ name }) => !name.endsWith(".npy")) : [];
  const withSums = opened.checkpoint !== undefined && kind !== "npy" && kind !== "sharded";
  let total = other.reduce((sum, { size }) => sum + size, 0);
  for (const row of opened.rows) {
    signal.throwIfAborted();
    try {
      total += (await infoOf(opened, row)).byteLength;
    } catch {
      // Reading it says what is wrong.
    }
  }
  let done = 0;
  const progress = (bytes: number, name: string): void => {
    done += bytes;
    onProgress(total === 0 ? 1 : Math.min(1, done / total), name);
  };

  if (withSums) {
    const { source } = opened.opened;
    total += source.size;
    const meter = new Meter();
    let read = 0;
    meter.watch(() => {
      progress(meter.bytes - read, "checksums");
      read = meter.bytes;
    });
    await verifyCheckpoint(metered(source, meter, signal)).catch((error) => damaged("", error));
  }
  let readable = 0;
  for (const row of opened.rows) {
    signal.throwIfAborted();
    const { name } = row;
    try {
      const { dtype } = await infoOf(opened, row);
      const count = await countNotFinite(opened, name, dtype, signal, (n) => progress(n, name));
      readable += 1;
      if (count > 0) notFinite.push([name, count]);
    } catch (error) {
      damaged(name, error);
    }
  }
  for (const { name, size } of other) {
    if (kind !== "npz") break;
    await file.bytes(name, { signal }).catch((error) => damaged(name, error));
    progress(size, name);
  }
  return { faults, notFinite, readable };
}

async function countNotFinite(
  { opened: { file } }: OpenedFile,
  name: string,
  dtype: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<number> {
  let count = 0;
  if (!isNumeric(dtype) || !/float|complex/.test(dtype)) {
    for await (const chunk of file.chunks(name, { signal })) onBytes(chunk.length);
    return 0;
  }
  for await (const piece of pieces(file, name, dtype, signal)) {
    for (const value of toFloat64(piece)) if (!Number.isFinite(value)) count += 1;
    onBytes(piece.data.byteLength);
    await breathe();
  }
  return count;
}
