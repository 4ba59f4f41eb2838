import type { Bytes } from "@tensorjar/core";
import { pieceBytes, Turns } from "@tensorjar/core/codec";

/** The same bytes in pieces that are handled one in each step of the thread. */
export async function* pieces(
  chunks: AsyncIterable<Bytes>,
  turns: Turns = new Turns(),
): AsyncGenerator<Bytes, void, undefined> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes);
      await turns.take(piece.length);
      yield piece;
    }
  }
}
