import * as zlib from "node:zlib";
import { nextTurn } from "@tensorjar/core/codec";
import { expect, test } from "vitest";
import { concat, sameBytes } from "../../../tooling/testing.js";
import { inflateChunks } from "../src/inflate.node.js";

/** Two deflated pieces of one stream; what the first inflates to ends at byte `at`. */
function cutAt(at: number, content: Uint8Array): Uint8Array[] {
  const first = zlib.deflateRawSync(content.subarray(0, at), {
    finishFlush: zlib.constants.Z_SYNC_FLUSH,
  });
  return [first, zlib.deflateRawSync(content.subarray(at))];
}

// zlib goes on filling the buffer of a chunk that is given away: what follows a chunk in it is not ours.
test.each([10, 64, 65, 100_000])(
  "the last %i bytes of zlib's buffer come out as they went in",
  async (left) => {
    const content = new Uint8Array(600_000).map((_, i) => 1 + (i % 251));
    const chunks: Uint8Array[] = [];
    for await (const chunk of inflateChunks(cutAt((256 << 10) - left, content))) {
      for (let turn = 0; turn < 3; turn++) await nextTurn();
      chunks.push(chunk);
      expect(chunk.buffer.byteLength).toBe(chunk.length); // nothing of what memory held before
    }
    expect(sameBytes(concat(...chunks), content)).toBe(true);
  },
);
