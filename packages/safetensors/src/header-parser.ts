import type { DType } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { dtypeCalled } from "./dtype-names.js";
import { JsonReader, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "./json-reader.js";

/** A tensor's dtype and shape, and where its data lies: bytes from the start of the data, not of the file. */
export interface SafetensorsInfo {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** What a header's text says, in its order, before it is compared with itself and the file. */
export interface ParsedHeader {
  readonly tensors: Map<string, SafetensorsInfo>;
  readonly metadata: Map<string, string>;
}

/** Where a tensor entry has said something. */
const DTYPE = 1;
const SHAPE = 2;
const OFFSETS = 4;

/**
 * Parses the JSON of a header, which starts at byte 8 of its file.
 * Throws `invalid-utf8`, then `invalid-header` for any fault of form, then `duplicate-name`, then `invalid-dtype`.
 */
export function parseHeader(bytes: Uint8Array): ParsedHeader {
  const json = new JsonReader(bytes, "the header", 8);
  const tensors = new Map<string, SafetensorsInfo>();
  const metadata = new Map<string, string>();
  let count = 0;
  let hasMetadata = false;
  let duplicate: Error | undefined;
  let unknown: Error | undefined;

  // One entry at a time; the callbacks are made once, not for every tensor.
  let seen = 0;
  let dtype: DType;
  let rank = 0;
  const dimensions: number[] = []; // reused: an array that grows by one dimension at a time takes room for 17
  let offsets = 0;
  let begin = 0;
  let end = 0;
  const dimension = (): void => {
    dimensions[rank++] = json.integer("a dimension of shape", true);
  };
  const offset = (): void => {
    begin = end;
    end = json.integer("one of data_offsets");
    if (++offsets > 2) throw json.error("invalid-header", "data_offsets has over 2 values");
  };
  const once = (field: number, key: string, at: number): void => {
    if ((seen & field) !== 0) throw json.error("invalid-header", `has ${key} twice`, at);
    seen |= field;
  };
  const member = (key: string, at: number): void => {
    if (key === "dtype") {
      once(DTYPE, key, at);
      if (json.next() !== QUOTE) json.expected("dtype as a string");
      const start = json.at;
      const name = json.string();
      const known = dtypeCalled(name);
      if (known !== undefined) dtype = known;
      else unknown ??= json.error("invalid-dtype", `unknown dtype ${quote(name)}`, start);
    } else if (key === "shape") {
      once(SHAPE, key, at);
      if (json.next() !== OPEN_BRACKET) json.expected("shape as an array of integers");
      json.array(dimension);
    } else if (key === "data_offsets") {
      once(OFFSETS, key, at);
      if (json.next() !== OPEN_BRACKET) json.expected("data_offsets as an array of two integers");
      json.array(offset);
      if (offsets < 2) throw json.error("invalid-header", "data_offsets has under 2 values", at);
    } else json.skip();
  };
  const metadataMember = (key: string, at: number): void => {
    json.kind = "__metadata__";
    json.name = key;
    if (json.next() !== QUOTE) json.expected("a string");
    if (metadata.has(key)) duplicate ??= json.error("duplicate-name", "the key is there twice", at);
    metadata.set(key, json.string());
    json.kind = "";
  };

  if (json.next() !== OPEN_BRACE) json.expected("an object");
  json.object((name, at) => {
    if (name === "__metadata__") {
      if (hasMetadata) throw json.error("invalid-header", "__metadata__ is there twice", at);
      hasMetadata = true;
      if (json.null()) return;
      if (json.next() !== OPEN_BRACE) json.expected("__metadata__ as an object of strings");
      json.object(metadataMember);
      return;
    }
    json.kind = "tensor";
    json.name = name;
    if (json.next() !== OPEN_BRACE) json.expected("an object with dtype, shape, data_offsets");
    seen = 0;
    rank = offsets = 0;
    json.object(member);
    if (seen !== 7) {
      const missing =
        (seen & DTYPE) === 0 ? "dtype" : (seen & SHAPE) === 0 ? "shape" : "data_offsets";
      throw json.error("invalid-header", `has no ${missing}`, at);
    }
    tensors.set(name, { dtype, shape: dimensions.slice(0, rank), begin, end });
    if (tensors.size !== ++count) {
      duplicate ??= json.error("duplicate-name", "the name is there twice", at);
      count--;
    }
    json.kind = "";
  });
  json.end();
  if (duplicate !== undefined || unknown !== undefined) throw duplicate ?? unknown;
  return { tensors, metadata };
}
