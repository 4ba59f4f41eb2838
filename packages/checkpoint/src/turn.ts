import type { Bytes } from "@tensorjar/core";

/** Bytes that are handled before other work on the thread gets its turn: 8 MiB. */
export const pieceBytes: number = 8 << 20;

/** As it was when the program started: tests put clocks of their own in its place. */
const immediate: ((callback: () => void) => unknown) | undefined =
  "setImmediate" in globalThis ? globalThis.setImmediate : undefined;

/** Resolves in a new turn of the event loop, after whatever else is waiting. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (immediate !== undefined) {
      immediate(resolve);
      return;
    }
    // Browsers slow nested timers down, messages not.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** Counts bytes handled on the thread, and gives way to other work before a step would exceed {@link pieceBytes}. */
export class Turns {
  #handled = 0;

  async take(bytes: number): Promise<void> {
    if (this.#handled > 0 && this.#handled + bytes > pieceBytes) {
      await nextTurn();
      this.#handled = 0;
    }
    this.#handled += bytes;
  }
}

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
