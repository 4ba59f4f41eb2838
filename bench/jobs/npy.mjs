import { readFileSync, rmSync } from "node:fs";
import { decodeNpy, fileSink, fileSource, openNpy, writeNpy } from "@tensorjar/npy/node";
import { swapBytes } from "../../packages/npy/dist/swap.js";

export const load = ({ path }) => ({
  async run() {
    const file = await openNpy(fileSource(path));
    const array = await file.read();
    await file.close();
    return array;
  },
});

export function write({ path, out }) {
  const array = decodeNpy(readFileSync(path), { copy: true });
  return {
    after: () => rmSync(out, { force: true }),
    run: () => writeNpy(fileSink(out, { durable: false }), array),
  };
}

/** Of a file in Fortran order or of big-endian numbers, both into memory of its own. */
export function decode({ path }) {
  const bytes = new Uint8Array(readFileSync(path));
  return { run: () => decodeNpy(bytes) };
}

/** The way of browsers. */
export function swapPortable({ bytes }) {
  const data = new Uint8Array(bytes).fill(1);
  return { run: () => swapBytes(data, 4) };
}
