import type { Bytes } from "@tensorjar/core";
import { pieceBytes, Turns, toBytes } from "@tensorjar/core/codec";

/** The same bytes in pieces that are handled one in each step of the thread. */
export async function* pieces(
  chunks: AsyncIterable<Bytes>,
  turns: Turns = new Turns(),
): AsyncGenerator<Bytes, void, undefined> {
  for await (const chunk of chunks) {
    const { length } = chunk;
    for (let at = 0; at < length; at += pieceBytes) {
      const piece = toBytes(chunk).subarray(at, at + pieceBytes); // throws where the last one was transferred
      await turns.take(piece.length);
      yield piece as Bytes; // of which the chunk is
    }
  }
}
