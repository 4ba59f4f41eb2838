import type { DType } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { dtypeCalled } from "./dtype-names.js";
import { JsonReader } from "./json-reader.js";

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

const fields = ["dtype", "shape", "data_offsets"];

/**
 * Parses the JSON of a header, which starts at byte 8 of its file.
 * Throws `invalid-utf8`, then `invalid-header` for any fault of form, then `duplicate-name`, then `invalid-dtype`.
 */
export function parseHeader(bytes: Uint8Array): ParsedHeader {
  const json = new JsonReader(bytes, "the header", 8);
  const tensors = new Map<string, SafetensorsInfo>();
  const metadata = new Map<string, string>();
  let duplicate: Error | undefined;
  let unknown: Error | undefined;
  let hasMetadata = false;
  const twice = (at: number): Error => json.error("duplicate-name", "is there twice", at);

  // One entry at a time; the callbacks are made once, not for every tensor.
  let seen = 0;
  let dtype: DType | undefined;
  const dimensions: number[] = []; // reused: an array that grows one by one takes room for 17
  let rank = 0;
  let offsets = 0;
  let begin = 0;
  let end = 0;
  const dimension = (): void => {
    dimensions[rank++] = json.integer(true);
  };
  const offset = (): void => {
    begin = end;
    end = json.integer();
    offsets++;
  };
  const member = (key: string, at: number): void => {
    const field = key === "dtype" ? 0 : key === "shape" ? 1 : key === "data_offsets" ? 2 : -1;
    if (field < 0) {
      json.skip();
      return;
    }
    if ((seen & (1 << field)) !== 0) throw json.error("invalid-header", "is there twice", at);
    seen |= 1 << field;
    if (field === 0) {
      const name = json.string();
      dtype = dtypeCalled(name);
      unknown ??= dtype ? unknown : json.error("invalid-dtype", `unknown dtype ${quote(name)}`, at);
    } else if (field === 1) json.array(dimension);
    else {
      json.array(offset);
      if (offsets !== 2) throw json.error("invalid-header", "must be two offsets", at);
    }
  };
  const text = (key: string, at: number): void => {
    if (metadata.has(key)) duplicate ??= twice(at);
    metadata.set(key, json.string());
  };

  json.object((name, at) => {
    if (name === "__metadata__") {
      if (hasMetadata) throw json.error("invalid-header", "is there twice", at);
      hasMetadata = true;
      if (!json.null()) json.object(text);
      return;
    }
    seen = rank = offsets = 0;
    json.object(member);
    if (seen !== 7) {
      const missing = fields.filter((_, field) => (seen & (1 << field)) === 0);
      throw json.error("invalid-header", `has no ${missing.join(", no ")}`, at);
    }
    const { size } = tensors;
    // An unknown dtype ends in an error below.
    const shape = dimensions.slice(0, rank);
    const info = { dtype: dtype as DType, shape, begin, end };
    tensors.set(name, info);
    if (tensors.size === size) duplicate ??= twice(at);
  });
  json.end();
  if (duplicate ?? unknown) throw duplicate ?? unknown;
  return { tensors, metadata };
}
