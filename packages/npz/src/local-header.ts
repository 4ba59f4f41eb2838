import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { descriptorFlag, type Entry, encryptedFlags, localLength } from "./directory.js";
import { invalidArchive } from "./end-record.js";
import { localSignature, placeholder32, viewOf } from "./fields.js";

/** The most bytes that one byte of a deflate stream can stand for. */
export const maxInflation = 1032;

const methodNames: ReadonlyMap<number, string> = new Map([
  [1, "shrink"],
  [6, "implode"],
  [9, "deflate64"],
  [12, "bzip2"],
  [14, "LZMA"],
  [93, "Zstandard"],
  [95, "xz"],
]);

/** Throws what keeps a member from being read, whatever its bytes are: `encrypted`, `unsupported`, `limit-exceeded`. */
export function checkReadable(entry: Entry): void {
  const { name, method, size, compressedSize, offset } = entry;
  if ((entry.flags & encryptedFlags) !== 0 || method === 99) throw encrypted(entry);
  if (typeof method === "number") {
    const known = methodNames.get(method);
    throw new TensorjarError(
      "unsupported",
      `member ${quote(name)} is compressed by method ${method}${known === undefined ? "" : ` (${known})`}`,
      { name, offset, actual: method, hint: "write the archive stored or deflated, as NumPy does" },
    );
  }
  if (method === "deflate" && size > maxInflation * compressedSize) {
    throw new TensorjarError(
      "limit-exceeded",
      `member ${quote(name)} declares ${size} bytes, more than its ${compressedSize} compressed bytes can inflate to`,
      { name, offset, expected: maxInflation * compressedSize, actual: size },
    );
  }
}

function encrypted({ name, offset }: Entry): TensorjarError {
  return new TensorjarError("encrypted", `member ${quote(name)} is encrypted`, {
    name,
    offset,
    hint: "decrypt the archive first",
  });
}

/** Bytes from the start of a local header that are sure to hold all of it but its extra fields. */
export function localHeadLength(entry: Entry): number {
  return localLength + entry.nameBytes.length;
}

/**
 * Where the content of `entry` starts, counted from its local header, whose first bytes are in `head`.
 * Throws `invalid-archive` where that header does not agree with the directory, `encrypted` where only it says so.
 */
export function contentStart(entry: Entry, head: Uint8Array): number {
  const { name, offset, nameBytes, size, compressedSize, limit } = entry;
  const view = viewOf(head);
  if (view.getUint32(0, true) !== localSignature)
    throw disagrees(entry, "there is no local header");
  const flags = view.getUint16(6, true);
  if ((flags & encryptedFlags) !== 0) throw encrypted(entry);
  const number = view.getUint16(8, true);
  const method = number === 0 ? "stored" : number === 8 ? "deflate" : number;
  if (method !== entry.method) throw disagrees(entry, `the local header says method ${method}`);
  const nameLength = view.getUint16(26, true);
  const localName = head.subarray(localLength, localLength + nameLength);
  if (nameLength !== nameBytes.length || !localName.every((byte, i) => byte === nameBytes[i]))
    throw disagrees(entry, "the local header has another name");
  const sizes: readonly (readonly [number, number])[] = [
    [view.getUint32(18, true), compressedSize],
    [view.getUint32(22, true), size],
  ];
  if ((flags & descriptorFlag) === 0) {
    for (const [local, central] of sizes) {
      if (local !== central && local !== placeholder32)
        throw disagrees(entry, `the local header says ${local} bytes, the directory ${central}`);
    }
  }
  const start = localLength + nameLength + view.getUint16(28, true);
  if (offset + start + compressedSize > limit) {
    throw invalidArchive(
      `member ${quote(name)} of ${compressedSize} bytes at offset ${offset + start} overlaps what starts at ${limit}`,
      { name, offset: offset + start, expected: limit, actual: offset + start + compressedSize },
    );
  }
  return start;
}

function disagrees({ name, offset }: Entry, what: string): TensorjarError {
  return invalidArchive(`member ${quote(name)} at offset ${offset}: ${what}`, { name, offset });
}
