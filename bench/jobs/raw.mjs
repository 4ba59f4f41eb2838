// The limits: what the system and the engine do without any format.
import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { fileSource, openSafetensors } from "@tensorjar/safetensors/node";

export const bare = () => ({ run() {} });

export const read = ({ path }) => ({
  run() {
    const fd = openSync(path, "r");
    const bytes = Buffer.allocUnsafeSlow(fstatSync(fd).size);
    for (let at = 0; at < bytes.length; ) at += readSync(fd, bytes, at, bytes.length - at, at);
    closeSync(fd);
    return bytes;
  },
});

/** The tensors of a file as they lie in memory, in slices of 8 MiB. */
export async function write({ path, out }) {
  const file = await openSafetensors(fileSource(path));
  const all = [...(await file.getAll()).values()];
  await file.close();
  return {
    after: () => rmSync(out, { force: true }),
    run() {
      const fd = openSync(out, "w");
      for (const { data } of all) {
        const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
        for (let at = 0; at < bytes.length; ) {
          at += writeSync(fd, bytes, at, Math.min(8 << 20, bytes.length - at));
        }
      }
      fsyncSync(fd);
      closeSync(fd);
    },
  };
}

/** A copy into memory that is there already. */
export function copy({ bytes }) {
  const from = new Uint8Array(bytes).fill(1);
  const into = new Uint8Array(bytes).fill(2);
  return { run: () => into.set(from) };
}

export function json({ path }) {
  const bytes = readFileSync(path).subarray(8);
  return { run: () => JSON.parse(new TextDecoder().decode(bytes)) };
}
