import { Buffer } from "node:buffer";
import { zeros } from "@tensorjar/core";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { fileSink, fileSource, openNpz, writeNpz } from "../src/index.node.js";

const { path } = temporaryFolder();
const marker = 0xab;

/** Leaves memory behind that holds the marker, of the sizes that are then asked for. */
function litter(): void {
  for (let size = 64 << 10; size <= 4 << 20; size *= 2) {
    for (let i = 0; i < 16; i++) Buffer.allocUnsafeSlow(size - 500 * i).fill(marker);
  }
}

test("nothing of what memory held before is seen around an array that was read", async () => {
  const sizes = [70_001, 300_000, 1_000_003];
  const arrays = Object.fromEntries(sizes.map((size) => [`a${size}`, zeros([size], "uint8")]));
  await writeNpz(fileSink(path("zeros.npz")), arrays);
  for (let round = 0; round < 20; round++) {
    litter();
    const file = await openNpz(fileSource(path("zeros.npz")));
    for (const { data } of (await file.getAll()).values()) {
      if (!ArrayBuffer.isView(data)) throw new Error("not numbers");
      const memory = new Uint8Array(data.buffer);
      expect(memory.length).toBeGreaterThan(70_000);
      expect(memory.includes(marker)).toBe(false);
    }
    await file.close();
  }
});
