import { type Bytes, TensorjarError } from "@tensorjar/core";
import { allocate } from "@tensorjar/core/codec";
import type { NpyWriteOptions } from "./encode.js";
import { tupleRepr } from "./python.js";

/** The data starts at a multiple of this. */
const alignment = 64;
/** Characters kept for the first axis, so that it can grow in place. */
const growthDigits = 21;

/**
 * Magic string, version, length and text of a header, byte for byte as NumPy writes them.
 * Source: numpy/lib/_format_impl.py. Throws `invalid-argument` for a version that cannot hold it, `invalid-shape`.
 */
export function encodeHeader(
  descr: string,
  shape: readonly number[],
  { version, growthPadding = true }: NpyWriteOptions = {},
): Bytes {
  if (shape.length > 64) {
    throw new TensorjarError("invalid-shape", `the shape has ${shape.length} axes, more than 64`, {
      expected: 64,
      actual: shape.length,
    });
  }
  const [first] = shape;
  const room = first === undefined || !growthPadding ? 0 : growthDigits - String(first).length;
  const text = `{'descr': ${descr}, 'fortran_order': False, 'shape': ${tupleRepr(shape)}, }${" ".repeat(room)}`;
  const latin1 = !/[^\0-\xff]/.test(text);
  for (const candidate of version === undefined ? [1, 2, 3] : [version]) {
    const bytes =
      candidate === 3 || latin1
        ? withPrefix(candidate, encodeText(text, candidate === 3))
        : undefined;
    if (bytes !== undefined) return bytes;
  }
  throw new TensorjarError(
    "invalid-argument",
    `version ${String(version)} of .npy cannot hold a header of ${text.length} characters${latin1 ? "" : " beyond Latin-1"}`,
    {
      name: "version",
      actual: version,
      hint: "leave the version out",
    },
  );
}

function encodeText(text: string, utf8: boolean): Uint8Array {
  return utf8 ? new TextEncoder().encode(text) : Uint8Array.from(text, (c) => c.charCodeAt(0));
}

function withPrefix(version: number, text: Uint8Array): Bytes | undefined {
  const textOffset = version === 1 ? 10 : 12;
  const used = textOffset + text.length + 1;
  const dataOffset = used + alignment - (used % alignment); // a whole 64 more where it would fit already
  let length = dataOffset - textOffset;
  if (![1, 2, 3].includes(version) || (version === 1 && length > 0xffff)) return undefined;
  const bytes = allocate(dataOffset).fill(0x20);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, version, 0]);
  for (let at = 8; at < textOffset; at++) {
    bytes[at] = length % 256;
    length = Math.floor(length / 256);
  }
  bytes.set(text, textOffset);
  bytes[dataOffset - 1] = 0x0a;
  return bytes;
}
