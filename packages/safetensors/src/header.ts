import { type BytesLike, TensorjarError } from "@tensorjar/core";
import { describe, notThisFormat, toBytes } from "@tensorjar/core/codec";
import { parseHeader, type SafetensorsInfo } from "./header-parser.js";
import { checkLayout, tensorFault } from "./layout.js";

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
/** V8's longest string, the shortest of the engines'. */
const maxText = 2 ** 29 - 24;

/**
 * Where the data of a file of `size` bytes starts, told by its first bytes, all of them or at least 4096.
 * Throws `not-this-format`, `truncated`, `limit-exceeded`, and `invalid-argument` for a limit that is none.
 */
export function dataStart(head: Uint8Array, size: number, limit: number = maxHeader): number {
  const length = size < 8 ? 0n : new DataView(head.buffer, head.byteOffset).getBigUint64(0, true); // exact up to 2^64-1
  // What could start a header is never another format, whatever its length looks like.
  if (head[8] !== 0x7b || length >= 2n ** 32n) {
    const other = notThisFormat(head, "safetensors", "a safetensors file");
    if (other) throw other;
  }
  if (!(typeof limit === "number" && limit >= 0)) {
    throw new TensorjarError("invalid-argument", `maxHeaderLength is ${describe(limit)}`, {
      name: "maxHeaderLength",
      actual: limit,
    });
  }
  const most = Math.min(limit, maxText);
  if (length > most) {
    throw new TensorjarError(
      "limit-exceeded",
      `the header has ${length} bytes, not up to ${most}`,
      {
        expected: most,
        actual: length,
        hint: "maxHeaderLength raises it",
      },
    );
  }
  const start = 8 + Number(length);
  if (start > size) {
    throw new TensorjarError("truncated", `the header ends at byte ${start}, the file at ${size}`, {
      offset: size,
      expected: start,
      actual: size,
    });
  }
  return start;
}

/** The header in `bytes`, the first `dataStart` bytes of a file, compared with itself but not with the file's size. */
export function readHeader(bytes: Uint8Array): SafetensorsHeader {
  const dataOffset = bytes.length;
  const { tensors: parsed, metadata } = parseHeader(bytes.subarray(8));
  const [tensors, end] = checkLayout(parsed, dataOffset);
  return { tensors, metadata, dataOffset, size: dataOffset + end };
}

/** Compares the size a header gives with the file's. Throws `truncated` and, unless ignored, `trailing-bytes`. */
export function checkSize(
  { tensors, dataOffset, size }: SafetensorsHeader,
  actual: number,
  trailing?: "error" | "ignore",
): void {
  const ends = `the data ends at byte ${size}, the file at ${actual}`;
  const details = { offset: Math.min(size, actual), expected: size, actual };
  for (const [name, { end }] of actual < size ? tensors : []) {
    if (dataOffset + end > actual) throw tensorFault("truncated", name, `is cut: ${ends}`, details);
  }
  if (actual > size && trailing !== "ignore") {
    const hint = 'trailing: "ignore" reads the file all the same';
    throw new TensorjarError("trailing-bytes", `${actual - size} bytes too many: ${ends}`, {
      ...details,
      hint,
    });
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
