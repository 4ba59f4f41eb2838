import type { TensorInfo } from "@tensorjar/core";
import type { NpyArray } from "@tensorjar/npy";
import { decodeData, type NpyLayout, type NpyReadOptions, npyPieces } from "@tensorjar/npy/codec";
import type { Entry } from "./directory.js";
import type { MemberReader } from "./reader.js";

/** The data of an array in pieces: C order, little-endian. Only an array in Fortran order is held whole. */
export async function* dataPieces(
  reader: MemberReader,
  entry: Entry,
  options: NpyReadOptions,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const layout = await reader.layout(entry, signal);
  const { header, element } = layout;
  if (header.fortranOrder && header.shape.length > 1 && options.fortranOrder !== "reverse-shape") {
    yield* bytesOf(await reader.array(entry, signal));
    return;
  }
  const swaps = element.byteOrder === "big";
  let skip = header.dataOffset;
  let rest: Uint8Array = new Uint8Array(0);
  for await (const piece of reader.pieces(entry, signal)) {
    const data = piece.subarray(Math.min(skip, piece.length));
    skip -= piece.length - data.length;
    if (!swaps) {
      if (data.length > 0) yield data;
      continue;
    }
    const joined = new Uint8Array(rest.length + data.length);
    joined.set(rest);
    joined.set(data, rest.length);
    const count = Math.floor(joined.length / element.itemSize);
    rest = joined.subarray(count * element.itemSize);
    if (count > 0)
      yield* bytesOf(
        decodeData(
          itemsOf(layout, count),
          joined.subarray(0, joined.length - rest.length),
          {},
          true,
        ),
      );
  }
}

/** What decoding makes of an array, as far as its header shows. */
export function arrayInfo(layout: NpyLayout, options: NpyReadOptions): TensorInfo {
  const { shape, fortranOrder } = layout.header;
  return {
    dtype: decodeData(itemsOf(layout, 0), new Uint8Array(0), options).dtype,
    shape: fortranOrder && options.fortranOrder === "reverse-shape" ? [...shape].reverse() : shape,
    byteLength: layout.byteLength,
  };
}

/** The layout of `count` items of an array, in one axis. */
function itemsOf({ header, element }: NpyLayout, count: number): NpyLayout {
  return {
    header: { ...header, fortranOrder: false, shape: [count] },
    element,
    count,
    byteLength: count * element.itemSize,
  };
}

/** The data of an array of any kind, without its header. */
function bytesOf(array: NpyArray): Uint8Array[] {
  return npyPieces(array, { asVoid: true }).pieces.slice(1);
}
