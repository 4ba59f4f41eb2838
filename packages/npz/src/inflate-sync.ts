import { Inflate } from "fflate";
import { outputOf } from "./output.js";
import { piece } from "./streams.js";

// Raw deflate streams (RFC 1951). A stream that does not inflate throws whatever the inflater throws: the caller knows
// the member's name and makes the error. What inflates to more than `size` bytes is cut after `size + 1` of them.

/** The content of a deflate stream whose content should be `size` bytes. */
export function inflateSync(data: Uint8Array, size: number): Uint8Array {
  return inflateStart(data, size + 1, piece, true);
}

/** The first `length` bytes of a stream's content, or all where it is shorter; `data` may be its beginning only. */
export function inflatePrefix(data: Uint8Array, length: number): Uint8Array {
  return inflateStart(data, length, 512, false);
}

function inflateStart(data: Uint8Array, length: number, step: number, whole: boolean): Uint8Array {
  const output = outputOf(length);
  const inflater = new Inflate(output.add);
  let at = 0;
  do {
    inflater.push(data.subarray(at, at + step), whole && at + step >= data.length);
    at += step;
  } while (at < data.length && !output.isFull());
  return output.bytes();
}

/** The content of a stream that comes in pieces, as it comes. */
export async function* inflateChunks(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  const inflater = new Inflate((part) => parts.push(part));
  for await (const data of pieces) {
    for (let at = 0; at < data.length; at += piece) {
      inflater.push(data.subarray(at, at + piece));
      yield* parts.splice(0);
    }
  }
  inflater.push(new Uint8Array(0), true);
  yield* parts;
}
