import { crc32 } from "#crc32";

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

/** The CRC-32 of bytes (after others that sum to `seed`), in steps that let other work on the thread through. */
export async function crc32InTurns(bytes: Uint8Array, turns: Turns, seed = 0): Promise<number> {
  let sum = seed;
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes);
    await turns.take(piece.length);
    sum = crc32(piece, sum);
  }
  return sum;
}
