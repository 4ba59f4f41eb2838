import { type Bytes, type DType, type Named, TensorjarError } from "@tensorjar/core";
import { allocate, compareNames, describe, namedEntries, quote } from "@tensorjar/core/codec";
import { checkDType, headerName } from "./dtype-names.js";
import { maxHeader } from "./header.js";
import type { SafetensorsInfo } from "./header-parser.js";
import { checkLayout, tensorFault } from "./layout.js";

/** Characters of a header that are encoded at a time. */
const textPart = 32 << 10;

/**
 * The bytes before the data of a safetensors file, its 8 bytes of length included, for tensors whose data lies as
 * `infos` say (bytes from the start of the data). Entries are written in the order of the data, metadata keys sorted
 * by UTF-8 bytes, spaces added until the length is a multiple of `dataAlignment` (a power of two, default 8).
 * Throws `invalid-name`, `duplicate-name`, `invalid-dtype`, `unsupported` (complex128), `invalid-shape`, `invalid-offsets`,
 * `limit-exceeded` (over 100,000,000 bytes), `invalid-argument` (metadata that is not text).
 */
export function encodeSafetensorsHeader(
  infos: Named<SafetensorsInfo>,
  metadata: Named<string> = [],
  { dataAlignment }: { dataAlignment?: number } = {},
): Bytes {
  const [tensors] = checkLayout(new Map(namedEntries(infos).map(checkInfo)), 0);
  const named = [...tensors].map(([name, { dtype, shape, begin, end }]) => {
    return { name, dtype, shape, bytes: end - begin };
  });
  return headerBytes(named, metadata, dataAlignment);
}

/** What a header says of a tensor that begins where the one before ends. */
interface HeaderEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: number;
}

/** The same of tensors that are checked and in the order of their data. */
export function headerBytes(
  tensors: Iterable<HeaderEntry>,
  metadata: Named<string>,
  dataAlignment = 8,
): Bytes {
  if (
    !(
      Number.isInteger(dataAlignment) &&
      dataAlignment >= 1 &&
      dataAlignment <= 2 ** 20 &&
      Number.isInteger(Math.log2(dataAlignment))
    )
  ) {
    throw new TensorjarError("invalid-argument", `dataAlignment is ${describe(dataAlignment)}`, {
      expected: "a power of two up to 1,048,576",
      actual: dataAlignment,
      hint: "give a power of two up to 1,048,576, such as 64",
    });
  }
  const encoder = new TextEncoder();
  const parts: Bytes[] = [];
  let length = 0;
  // Encoded bit by bit: as strings, very many members would outlive their use.
  let text = "{";
  const encode = (): void => {
    const part = encoder.encode(text);
    parts.push(part);
    length += part.length;
    text = "";
    if (length > maxHeader) throw tooLong(length);
  };
  let separator = "";
  const add = (name: string, value: string): void => {
    text += `${separator}${JSON.stringify(name)}:${value}`; // JSON.stringify escapes as serde_json does
    separator = ",";
    if (text.length > textPart) encode();
  };
  const texts = namedEntries(metadata, "metadata").sort(([a], [b]) => compareNames(a, b));
  if (texts.length > 0) add("__metadata__", `{${texts.map(metadataMember).join(",")}}`);
  let begin = 0;
  let beginText = "0"; // numbers become text once: measured, a quarter faster
  for (const { name, dtype, shape, bytes } of tensors) {
    const end = begin + bytes;
    const endText = `${end}`;
    const dims = shape.length === 1 ? shape[0] : shape.join(",");
    if (end > Number.MAX_SAFE_INTEGER)
      throw tensorFault("invalid-shape", name, "ends past byte 2^53-1");
    if (name === "__metadata__") {
      throw new TensorjarError("invalid-name", 'no tensor can be called "__metadata__"', { name });
    }
    add(
      name,
      `{"dtype":"${headerName(dtype)}","shape":[${dims}],"data_offsets":[${beginText},${endText}]}`,
    );
    begin = end;
    beginText = endText;
  }
  text += "}";
  encode();
  const start = Math.ceil((8 + length) / dataAlignment) * dataAlignment;
  if (start - 8 > maxHeader) throw tooLong(start - 8);
  const header = allocate(start).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(start - 8), true);
  let at = 8;
  for (const part of parts) {
    header.set(part, at);
    at += part.length;
  }
  return header;
}

function tooLong(length: number): TensorjarError {
  return new TensorjarError("limit-exceeded", `the header takes ${length} bytes or more`, {
    expected: maxHeader,
    actual: length,
    hint: `the format allows ${maxHeader}: write several files with writeShardedSafetensors`,
  });
}

function metadataMember([key, value]: [string, string]): string {
  if (typeof value !== "string") {
    throw new TensorjarError(
      "invalid-argument",
      `metadata ${quote(key)} is ${describe(value)}, not a string`,
      {
        name: key,
        hint: "metadata is text: use String(value) or JSON.stringify(value)",
      },
    );
  }
  if (value.length > maxHeader) throw tooLong(value.length);
  if (/\p{Surrogate}/u.test(value)) {
    throw new TensorjarError("invalid-argument", `metadata ${quote(key)} holds a lone surrogate`, {
      name: key,
    });
  }
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`;
}

function checkInfo(entry: [string, SafetensorsInfo]): [string, SafetensorsInfo] {
  const [name, info] = entry;
  if (typeof info !== "object" || info === null) {
    throw tensorFault("invalid-argument", name, `is ${describe(info)}`, {
      hint: "give { dtype, shape, begin, end }",
    });
  }
  const { dtype, begin, end } = info;
  if (!Number.isSafeInteger(begin) || !Number.isSafeInteger(end)) {
    throw tensorFault("invalid-offsets", name, "has offsets that are no integers", {
      actual: [begin, end],
    });
  }
  checkDType(dtype, name);
  return entry;
}
