import type { TensorjarError } from "@tensorjar/core";
import {
  checkEnd,
  descriptorFlag,
  type Entry,
  encryptedFlags,
  localLength,
  methodOf,
} from "./directory.js";
import { memberFault } from "./faults.js";
import { localSignature, placeholder32, uint16, uint32, viewOf } from "./fields.js";

/** The most bytes that one byte of a deflate stream can stand for. */
const maxInflation = 1032;

const methodNames: { readonly [method: number]: string } = {
  9: "deflate64",
  12: "bzip2",
  14: "LZMA",
  93: "Zstandard",
  95: "xz",
};

/**
 * Where the content of `entry` starts, counted from its local header, whose first bytes are in `head`.
 * Throws what keeps a member from being read, whatever its content: `encrypted`, `unsupported`, `limit-exceeded`, and
 * `invalid-archive` where its local header does not agree with the directory.
 */
export function contentStart(entry: Entry, head: Uint8Array): number {
  const { offset, nameBytes, size, compressedSize, method } = entry;
  const view = viewOf(head);
  const flags = uint16(view, 6);
  const disagrees = (what: string): TensorjarError =>
    memberFault("invalid-archive", entry, `at offset ${offset}: the local header ${what}`);
  const isLocal = uint32(view, 0) === localSignature;
  if (((entry.flags | (isLocal ? flags : 0)) & encryptedFlags) !== 0 || method === 99) {
    throw memberFault("encrypted", entry, "is encrypted", { hint: "decrypt the archive first" });
  }
  if (typeof method === "number") {
    throw memberFault(
      "unsupported",
      entry,
      `is compressed by method ${method} (${methodNames[method] ?? "unknown"})`,
      { actual: method, hint: "write the archive stored or deflated, as NumPy does" },
    );
  }
  const expected = maxInflation * compressedSize;
  if (method === "deflate" && size > expected) {
    throw memberFault(
      "limit-exceeded",
      entry,
      `declares ${size} bytes, more than its ${compressedSize} compressed bytes can inflate to`,
      { expected, actual: size },
    );
  }
  if (!isLocal) throw disagrees("is missing");
  const localMethod = methodOf(uint16(view, 8));
  if (localMethod !== method) throw disagrees(`says method ${localMethod}, not ${method}`);
  const nameLength = uint16(view, 26);
  const sameName = nameBytes.every((byte, i) => byte === head[localLength + i]);
  if (nameLength !== nameBytes.length || !sameName) throw disagrees("has another name");
  const sizes = [compressedSize, size];
  for (const [i, central] of (flags & descriptorFlag ? [] : sizes).entries()) {
    const local = uint32(view, 18 + 4 * i);
    if (local !== central && local !== placeholder32)
      throw disagrees(`says ${local} bytes, the directory ${central}`);
  }
  const start = localLength + nameLength + uint16(view, 28);
  checkEnd(entry, start);
  return start;
}
