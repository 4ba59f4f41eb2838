import { isTensorjarError, type TensorjarError } from "@tensorjar/core";
import { crc32 } from "@tensorjar/core/codec";
import type { NpyArray } from "@tensorjar/npy";
import {
  checkDataSize,
  decodeData,
  latin1,
  type NpyReadOptions,
  readLayout,
} from "@tensorjar/npy/codec";
import type { Entry } from "./directory.js";
import { inMember, memberFault } from "./faults.js";

// What a member's bytes hold, once they are at hand.

/** `inflateSync` or `inflatePrefix` for a deflated member; none for a stored one. */
export type Inflate = (data: Uint8Array, length: number) => Uint8Array;

/** The content of a member whose compressed bytes are `raw`: a view of them where it is stored. Throws `checksum-mismatch`. */
export function contentSync(entry: Entry, raw: Uint8Array, inflateSync?: Inflate): Uint8Array {
  const content = contentPrefix(entry, raw, entry.size, inflateSync);
  checkContent(entry, content.length, crc32(content));
  return content;
}

/** The first `length` bytes of the content, unverified; `raw` may be the beginning of the compressed bytes only. */
export function contentPrefix(
  entry: Entry,
  raw: Uint8Array,
  length: number,
  inflate: Inflate = (data, end) => data.subarray(0, end),
): Uint8Array {
  try {
    return inflate(raw, Math.min(length, entry.size));
  } catch (cause) {
    throw notInflating(entry, cause);
  }
}

/** What an inflater threw, as an error about the member. */
export function notInflating(entry: Entry, cause: unknown): TensorjarError {
  if (isTensorjarError(cause)) return cause;
  return mismatch(entry, `does not inflate to the ${entry.size} bytes it declares`, {}, cause);
}

/** Compares what a member came to with what the directory says. Throws `checksum-mismatch`. */
export function checkContent(entry: Entry, length: number, crc: number): void {
  const { size: expected, crc32 } = entry;
  if (length !== expected) {
    const amount = length > expected ? "more than" : `${length} of`;
    const what = `inflates to ${amount} the ${expected} bytes it declares`;
    throw mismatch(entry, what, { expected, actual: length });
  }
  if (crc !== crc32) {
    const what = `has the CRC-32 ${hex(crc)}, the directory says ${hex(crc32)}`;
    throw mismatch(entry, what, { expected: crc32, actual: crc });
  }
}

function mismatch(entry: Entry, what: string, details: object, cause?: unknown): TensorjarError {
  const hint = "its bytes are damaged: copy or download the file again";
  return memberFault("checksum-mismatch", entry, what, { ...details, hint }, cause);
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, "0");
}

const magic = "\x93NUMPY";

/** Bytes of a content by which {@link isArray} tells it. */
export const magicLength: number = magic.length;

/** Whether a member's content is an array: by the npy magic, whatever the member is called. */
export function isArray(content: Uint8Array): boolean {
  return latin1(content.subarray(0, magicLength)) === magic;
}

/**
 * The array that a member's verified content is. `owned` content may become part of the result; of other content it
 * is a view where that is aligned. Throws as `decodeNpy` does, naming the member.
 */
export function decodeMember(
  entry: Entry,
  content: Uint8Array,
  options: NpyReadOptions,
  owned: boolean,
): NpyArray {
  return inMember(entry, () => {
    const layout = readLayout(content, options);
    checkDataSize(layout, content.length);
    return decodeData(layout, content.subarray(layout.header.dataOffset), options, owned);
  });
}
