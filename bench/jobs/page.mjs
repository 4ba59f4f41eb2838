// What the Chromium page runs; `start` is given the archive's bytes.
import { openNpz } from "@tensorjar/npz";
import { inflateSync } from "fflate";

/** Both sides get exact memory for what comes out, and ours is checked all the same. */
export async function start(name, bytes) {
  if (name === "ours") {
    return async () => {
      const file = await openNpz(bytes);
      return file.getAll();
    };
  }
  const { members } = await openNpz(bytes);
  const view = new DataView(bytes.buffer);
  const compressed = members.map(({ offset, compressedSize, size }) => {
    const at = offset + 30 + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true);
    return { raw: bytes.subarray(at, at + compressedSize), size };
  });
  return () => compressed.map(({ raw, size }) => inflateSync(raw, { out: new Uint8Array(size) }));
}
