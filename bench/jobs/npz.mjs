import { readFileSync, rmSync } from "node:fs";
import { decodeNpz, fileSink, fileSource, openNpz, writeNpz } from "@tensorjar/npz/node";

export const load = ({ path }) => ({
  async run() {
    const file = await openNpz(fileSource(path));
    const arrays = await file.getAll();
    await file.close();
    return arrays;
  },
});

/** As NumPy does it: without waiting for the disk. */
export function write({ path, out, compression }) {
  const arrays = decodeNpz(readFileSync(path), { copy: true });
  return {
    after: () => rmSync(out, { force: true }),
    run: () => writeNpz(fileSink(out, { durable: false }), arrays, { compression, level: 6 }),
  };
}
