import {
  arrayShape,
  fortranToC,
  type NpyReadOptions,
  swapBytes,
  swapSize,
} from "@tensorjar/npy/codec";
import type { Entry } from "./directory.js";
import { inMember } from "./faults.js";
import { contentOf, layoutOf, piecesOf, type Read } from "./reader.js";

/** The data of an array in pieces: C order, little-endian. Only an array in Fortran order is held whole. */
export async function* dataPieces(
  read: Read,
  entry: Entry,
  options: NpyReadOptions,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { header, element } = await layoutOf(read, entry, options).catch(async (fault: unknown) => {
    for await (const _ of piecesOf(read, entry)); // throws when the member is damaged, not wrong
    throw fault;
  });
  const { dataOffset, fortranOrder } = header;
  const shape = inMember(entry, () => arrayShape(header, options));
  const unit = element.byteOrder === "big" ? swapSize(element.dtype, element.itemSize) : 1;

  async function* converted(): AsyncGenerator<Uint8Array> {
    const content = await contentOf(read, entry, signal);
    const data = content.subarray(dataOffset);
    yield fortranToC(data, element.itemSize, shape) ?? data;
  }

  const converts = fortranOrder && shape === header.shape && shape.length > 1;
  let skip = converts ? 0 : dataOffset;
  let rest: Uint8Array = new Uint8Array(0); // the start of an item that the next piece ends
  for await (const piece of converts ? converted() : piecesOf(read, entry)) {
    signal?.throwIfAborted();
    const data = piece.subarray(skip);
    skip -= piece.length - data.length;
    let whole = data;
    if (unit > 1) {
      const joined = new Uint8Array(rest.length + data.length);
      joined.set(rest);
      joined.set(data, rest.length);
      const end = joined.length - (joined.length % unit);
      whole = joined.subarray(0, end);
      rest = joined.subarray(end);
      swapBytes(whole, unit);
    }
    if (whole.length > 0) yield whole;
  }
}
