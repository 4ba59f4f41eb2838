import type { Bytes } from "@tensorjar/core";
import { allocate } from "@tensorjar/core/codec";
import { cloneBytes } from "./bytes.js";

type Words = Uint8Array | Uint16Array | Uint32Array;

/** Elements on each side of the blocks that are transposed at a time, so that both sides stay in the cache. */
const side = 64;

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
  const [rows, cols] = [dims[0], dims.at(-1)];
  if (rows === undefined || cols === undefined || dims.length < 2 || bytes.length === 0) {
    return undefined;
  }
  const word = itemSize % 4 === 0 ? 4 : itemSize % 2 === 0 ? 2 : 1;
  const aligned = bytes.byteOffset % word === 0 ? bytes : cloneBytes(bytes);
  const result = allocate(bytes.length);
  const from = wordsOf(aligned, word);
  const to = wordsOf(result, word);
  const size = itemSize / word;
  const perRow = (bytes.length / itemSize / rows) * size; // words from one row to the next in C order
  const perCol = (bytes.length / itemSize / cols) * size; // words from one column to the next in Fortran order
  for (const [source, target] of planes(dims)) {
    transpose(from, to, source * size, target * size, rows, cols, perCol, perRow, size);
  }
  return result;
}

function wordsOf(bytes: Uint8Array, word: 1 | 2 | 4): Words {
  const length = bytes.length / word;
  if (word === 1) return bytes;
  return word === 2
    ? new Uint16Array(bytes.buffer, bytes.byteOffset, length)
    : new Uint32Array(bytes.buffer, bytes.byteOffset, length);
}

/** Where each plane of the first and the last axis starts: in Fortran order and in C order, in elements. */
function* planes(dims: readonly number[]): Generator<readonly [number, number]> {
  const middle = dims.slice(1, -1);
  const count = middle.reduce((product, dim) => product * dim, 1);
  const [rows = 1, cols = 1] = [dims[0], dims.at(-1)];
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
  for (let row0 = 0; row0 < rows; row0 += side) {
    const rowEnd = Math.min(rows, row0 + side);
    for (let col0 = 0; col0 < cols; col0 += side) {
      const colEnd = Math.min(cols, col0 + side);
      for (let row = row0; row < rowEnd; row++) {
        let read = source + row * size + col0 * perCol;
        let write = target + row * perRow + col0 * size;
        if (size === 1) {
          for (let col = col0; col < colEnd; col++, read += perCol) to[write++] = from[read] ?? 0;
        } else {
          for (let col = col0; col < colEnd; col++, read += perCol) {
            for (let word = 0; word < size; word++) to[write++] = from[read + word] ?? 0;
          }
        }
      }
    }
  }
}
