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
import { fields, localSignature, numberAt, placeholder32 } from "./fields.js";

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
  const [flags, code, , , , localCompressed, localSize, nameLength, extraLength] = fields(
    head,
    6,
    2,
    2,
    2,
    2,
    4,
    4,
    4,
    2,
    2,
  );
  const disagrees = (what: string): TensorjarError =>
    memberFault("invalid-archive", entry, `at offset ${offset}: the local header ${what}`);
  const isLocal = numberAt(head, 0, 4) === localSignature;
  if (((entry.flags | (isLocal ? flags : 0)) & encryptedFlags) !== 0 || method === 99) {
    throw memberFault("encrypted", entry, "is encrypted", { hint: "decrypt the archive first" });
  }
  if (typeof method === "number") {
    throw memberFault(
      "unsupported",
      entry,
      `is compressed by method ${method} (${methodNames[method] ?? "unknown"})`,
      { actual: method, hint: "write the archive stored or deflated" },
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
  const localMethod = methodOf(code);
  if (localMethod !== method) throw disagrees(`says method ${localMethod}, not ${method}`);
  const sameName = nameBytes.every((byte, i) => byte === head[localLength + i]);
  if (nameLength !== nameBytes.length || !sameName) throw disagrees("has another name");
  const sizes = [
    [localCompressed, compressedSize],
    [localSize, size],
  ];
  for (const [local, central] of flags & descriptorFlag ? [] : sizes) {
    if (local !== central && local !== placeholder32)
      throw disagrees(`says ${local} bytes, the directory ${central}`);
  }
  const start = localLength + nameLength + extraLength;
  checkEnd(entry, start);
  return start;
}
