import { type BytesLike, TensorjarError } from "@tensorjar/core";
import { notThisFormat, toBytes } from "@tensorjar/core/codec";
import { parseHeader, type SafetensorsInfo } from "./header-parser.js";
import { OPEN_BRACE } from "./json-reader.js";
import { checkLayout, tensorError } from "./layout.js";

/** A safetensors header, compared with itself. */
export interface SafetensorsHeader {
  /** In the order of the data. */
  readonly tensors: Map<string, SafetensorsInfo>;
  readonly metadata: Map<string, string>;
  /** Where the data starts in the file. */
  readonly dataOffset: number;
  /** Bytes of the whole file, as the header has it. */
  readonly size: number;
}

/** The reference's limit on the bytes of a header. */
export const maxHeader = 100_000_000;

/**
 * Where the data of a file starts, told by its first bytes (all of them, or at least 9).
 * Throws `not-this-format`, `truncated`, `limit-exceeded`.
 */
export function dataStart(head: Uint8Array, size: number, limit: number = maxHeader): number {
  const other = otherFormat(head);
  if (other !== undefined) throw other;
  if (size < 8) {
    throw new TensorjarError(
      "truncated",
      `a safetensors file starts with a header length of 8 bytes, this one has ${size} bytes`,
      { offset: 0, expected: 8, actual: size },
    );
  }
  const length = new DataView(head.buffer, head.byteOffset).getBigUint64(0, true); // exact up to 2^64-1
  if (length > BigInt(limit)) {
    throw new TensorjarError(
      "limit-exceeded",
      `the header length is ${length} bytes, over the limit of ${limit}`,
      { offset: 0, expected: limit, actual: length, hint: "maxHeaderLength raises the limit" },
    );
  }
  const start = 8 + Number(length);
  if (start > size) {
    throw new TensorjarError(
      "truncated",
      `the header is ${length} bytes long and ends at byte ${start}, but there are ${size} bytes`,
      { offset: 8, expected: start, actual: size },
    );
  }
  return start;
}

/** The error for the first bytes of another format: what a header could start with is never one. */
function otherFormat(head: Uint8Array): TensorjarError | undefined {
  const header =
    head[8] === OPEN_BRACE &&
    (head[4] ?? 1) + (head[5] ?? 1) + (head[6] ?? 1) + (head[7] ?? 1) === 0;
  return header ? undefined : notThisFormat(head, "safetensors", "a safetensors file");
}

/**
 * The header in `bytes`, the first `dataStart` bytes of a file, compared with itself but not with the file's size.
 */
export function readHeader(bytes: Uint8Array): SafetensorsHeader {
  const dataOffset = bytes.length;
  const { tensors, metadata } = parseHeader(bytes.subarray(8));
  const layout = checkLayout(tensors, dataOffset);
  return { tensors: layout.tensors, metadata, dataOffset, size: dataOffset + layout.dataLength };
}

/** Compares the size a header gives with the file's. Throws `truncated` and, unless ignored, `trailing-bytes`. */
export function checkSize(
  header: SafetensorsHeader,
  actual: number,
  trailing?: "error" | "ignore",
): void {
  const { size, tensors, dataOffset } = header;
  for (const [name, { end }] of actual < size ? tensors : []) {
    if (dataOffset + end <= actual) continue;
    throw tensorError(
      "truncated",
      name,
      `ends at byte ${dataOffset + end}, but the file has ${actual} bytes: ${size - actual} are missing`,
      { offset: actual, expected: size, actual },
    );
  }
  if (actual > size && trailing !== "ignore") {
    throw new TensorjarError(
      "trailing-bytes",
      `${actual - size} bytes are left after the last tensor, which ends at byte ${size}; the file has ${actual}`,
      { offset: size, expected: size, actual, hint: 'trailing: "ignore" reads it all the same' },
    );
  }
}

/**
 * Reads a header without the data: `bytes` is a file or at least its first `8 + header length` bytes.
 * `begin` and `end` count from `dataOffset`; `size` is what the whole file must have, which is left to compare.
 * Throws what {@link decodeSafetensors} throws for a header.
 */
export function parseSafetensorsHeader(
  bytes: BytesLike,
  options: { maxHeaderLength?: number } = {},
): SafetensorsHeader {
  const file = toBytes(bytes);
  return readHeader(file.subarray(0, dataStart(file, file.length, options.maxHeaderLength)));
}
