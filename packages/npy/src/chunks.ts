import type { ByteSource } from "@tensorjar/core";
import { abortable, allocate } from "@tensorjar/core/codec";
import { swapBytes } from "#swap";
import { cloneBytes } from "./bytes.js";
import { arrayShape, type NpyReadOptions } from "./decode.js";
import { swapSize } from "./descr.js";
import { fortranToC } from "./fortran.js";
import type { NpyLayout } from "./header.js";

/** Bytes read at a time; a multiple of every swapped size. */
const pieceSize = 8 << 20;
/** Bytes of C order that are put together from Fortran order at a time, at least one row. */
const blockSize = 64 << 20;

/** The data of an open file in C order, little-endian. Fortran order is read once per 64 MiB. */
export async function* fileChunks(
  source: ByteSource,
  layout: NpyLayout,
  options: NpyReadOptions,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { header, element } = layout;
  const swap = element.byteOrder === "big" ? swapSize(element.dtype, element.itemSize) : 1;
  const converted =
    header.fortranOrder && header.shape.length > 1 && arrayShape(header, options) === header.shape;
  const read: Read = (offset, length) => {
    signal?.throwIfAborted();
    const reading = source.read(header.dataOffset + offset, length, signal && { signal });
    return abortable(reading, signal);
  };
  for await (const bytes of converted ? fortranBlocks(read, layout) : pieces(read, layout)) {
    const own = swap > 1 && !converted ? cloneBytes(bytes) : bytes;
    if (swap > 1) swapBytes(own, swap);
    yield own;
  }
}

type Read = (offset: number, length: number) => Promise<Uint8Array>;

async function* pieces(read: Read, { byteLength }: NpyLayout): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < byteLength; at += pieceSize) {
    yield await read(at, Math.min(pieceSize, byteLength - at));
  }
}

/** Blocks of rows: of each column, which lies whole in Fortran order, the part within the block is gathered. */
async function* fortranBlocks(
  read: Read,
  { header: { shape }, element: { itemSize }, byteLength }: NpyLayout,
): AsyncGenerator<Uint8Array> {
  const [rows = 0, ...rowShape] = shape;
  if (byteLength === 0) return;
  const columnSize = rows * itemSize;
  const columns = byteLength / columnSize;
  const rowsAtOnce = Math.max(1, Math.floor(blockSize / (byteLength / rows)));
  const columnsAtOnce = Math.max(1, Math.floor(pieceSize / columnSize));
  for (let row = 0; row < rows; row += rowsAtOnce) {
    const count = Math.min(rowsAtOnce, rows - row);
    const part = count * itemSize;
    const block = allocate(part * columns);
    for (let column = 0; column < columns; column += columnsAtOnce) {
      const group = Math.min(columnsAtOnce, columns - column);
      const bytes = await read(
        column * columnSize + row * itemSize,
        (group - 1) * columnSize + part,
      );
      for (let at = 0; at < group; at++) {
        const start = at * columnSize;
        block.set(bytes.subarray(start, start + part), (column + at) * part);
      }
    }
    yield fortranToC(block, itemSize, [count, ...rowShape]) ?? block;
  }
}
