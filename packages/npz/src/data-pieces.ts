import type { TensorInfo } from "@tensorjar/core";
import { tensorBytes } from "@tensorjar/core/codec";
import { decodeData, type NpyLayout, type NpyReadOptions } from "@tensorjar/npy/codec";
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
  const order = element.byteOrder;
  const { itemSize } = element;
  const converts =
    header.fortranOrder && header.shape.length > 1 && options.fortranOrder !== "reverse-shape";
  const pieces = converts ? converted() : reader.pieces(entry, signal);
  // Strings are swapped as the code points that they are made of.
  const word =
    element.dtype === "string" ? { dtype: "uint32", itemSize: 4, byteOrder: order } : element;

  async function* converted(): AsyncGenerator<Uint8Array> {
    const content = await reader.content(entry, signal);
    yield content.subarray(0, header.dataOffset);
    const raw = { ...layout, element: { dtype: "void", itemSize, byteOrder: "none" } } as const;
    yield bytesOf(raw, content.subarray(header.dataOffset), options);
  }

  let skip = header.dataOffset;
  let rest: Uint8Array = new Uint8Array(0);
  for await (const piece of pieces) {
    const data = piece.subarray(Math.min(skip, piece.length));
    skip -= piece.length - data.length;
    if (order !== "big") {
      if (data.length > 0) yield data;
      continue;
    }
    const joined = new Uint8Array(rest.length + data.length);
    joined.set(rest);
    joined.set(data, rest.length);
    const whole = joined.length - (joined.length % word.itemSize);
    rest = joined.subarray(whole);
    const items = { ...layout, element: word, count: whole / word.itemSize };
    if (whole > 0) yield bytesOf(flat(items), joined.subarray(0, whole));
  }
}

/** The same items along one axis. */
function flat(layout: NpyLayout): NpyLayout {
  return { ...layout, header: { ...layout.header, fortranOrder: false, shape: [layout.count] } };
}

/** The data of an array that is not made of strings; `bytes` may be changed. */
function bytesOf(layout: NpyLayout, bytes: Uint8Array, options: NpyReadOptions = {}): Uint8Array {
  const { data } = decodeData(layout, bytes, options, true);
  if (Array.isArray(data)) throw new Error("unreachable: strings are read as integers");
  return tensorBytes({ data });
}

/** What decoding makes of an array, as far as its header shows. */
export function arrayInfo(layout: NpyLayout, options: NpyReadOptions): TensorInfo {
  const { shape, fortranOrder } = layout.header;
  const empty = flat({ ...layout, count: 0 });
  return {
    dtype: decodeData(empty, new Uint8Array(0), options).dtype,
    shape: fortranOrder && options.fortranOrder === "reverse-shape" ? [...shape].reverse() : shape,
    byteLength: layout.byteLength,
  };
}
