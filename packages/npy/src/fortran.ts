import type { Bytes } from "@tensorjar/core";
import { unfilled } from "@tensorjar/core/codec";
import { cloneBytes } from "./bytes.js";

type Words = Uint8Array | Uint16Array | Uint32Array;
type WordArray = new (buffer: ArrayBufferLike, byteOffset?: number, length?: number) => Words;

/** Elements of the blocks that are transposed at a time: 16 columns are read side by side and fill lines of the cache. */
const height = 128;
const width = 16;

/**
 * Elements of `itemSize` bytes from Fortran order to C order, in memory of their own;
 * `undefined` where both are the same because at most one axis is longer than 1.
 */
export function fortranToC(
  bytes: Uint8Array,
  itemSize: number,
  shape: readonly number[],
): Bytes | undefined {
  const dims = shape.filter((dim) => dim !== 1);
  const [rows = 1, ...middle] = dims;
  const cols = middle.pop();
  if (cols === undefined || bytes.length === 0) return undefined;
  const word = itemSize % 4 === 0 ? 4 : itemSize % 2 === 0 ? 2 : 1;
  const aligned = bytes.byteOffset % word === 0 ? bytes : cloneBytes(bytes);
  const result = unfilled(bytes.length);
  const Words: WordArray = word === 4 ? Uint32Array : word === 2 ? Uint16Array : Uint8Array;
  const from = new Words(aligned.buffer, aligned.byteOffset, bytes.length / word);
  const to = new Words(result.buffer);
  const size = itemSize / word;
  const perRow = (bytes.length / itemSize / rows) * size; // words from one row to the next in C order
  const perCol = (bytes.length / itemSize / cols) * size; // words from one column to the next in Fortran order
  for (const [source, target] of planes(rows, middle, cols)) {
    transpose(from, to, source * size, target * size, rows, cols, perCol, perRow, size);
  }
  return result;
}

/** Where each plane of the first and the last axis starts: in Fortran order and in C order, in elements. */
function* planes(
  rows: number,
  middle: readonly number[],
  cols: number,
): Generator<readonly [number, number]> {
  const count = middle.reduce((product, dim) => product * dim, 1);
  for (let plane = 0; plane < count; plane++) {
    let rest = plane; // the plane's index in Fortran order
    let target = 0;
    let stride = cols * count;
    for (const dim of middle) {
      stride /= dim;
      target += (rest % dim) * stride;
      rest = Math.floor(rest / dim);
    }
    yield [plane * rows, target];
  }
}

function transpose(
  from: Words,
  to: Words,
  source: number,
  target: number,
  rows: number,
  cols: number,
  perCol: number,
  perRow: number,
  size: number,
): void {
  for (let row0 = 0; row0 < rows; row0 += height) {
    const rowEnd = Math.min(rows, row0 + height);
    for (let col0 = 0; col0 < cols; col0 += width) {
      const words = Math.min(cols - col0, width) * size;
      let at = source + row0 * size + col0 * perCol;
      let write = target + row0 * perRow + col0 * size;
      for (let row = row0; row < rowEnd; row++, at += size, write += perRow) {
        // `!` throughout: every index is within its array, and a check of each costs a third of the time.
        let read = at;
        if (words === width && size === 1) {
          to[write] = from[read]!;
          to[write + 1] = from[read + perCol]!;
          to[write + 2] = from[read + 2 * perCol]!;
          to[write + 3] = from[read + 3 * perCol]!;
          to[write + 4] = from[read + 4 * perCol]!;
          to[write + 5] = from[read + 5 * perCol]!;
          to[write + 6] = from[read + 6 * perCol]!;
          to[write + 7] = from[read + 7 * perCol]!;
          to[write + 8] = from[read + 8 * perCol]!;
          to[write + 9] = from[read + 9 * perCol]!;
          to[write + 10] = from[read + 10 * perCol]!;
          to[write + 11] = from[read + 11 * perCol]!;
          to[write + 12] = from[read + 12 * perCol]!;
          to[write + 13] = from[read + 13 * perCol]!;
          to[write + 14] = from[read + 14 * perCol]!;
          to[write + 15] = from[read + 15 * perCol]!;
        } else {
          for (let word = 0; word < words; read += perCol) {
            for (let i = 0; i < size; i++) to[write + word++] = from[read + i]!;
          }
        }
      }
    }
  }
}
