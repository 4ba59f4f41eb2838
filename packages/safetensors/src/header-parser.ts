import type { DType, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { dtypeCalled } from "./dtype-names.js";
import { jsonReader, NULL } from "./json-reader.js";

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

const twice = "is there twice";

/** A tensor as most writers write it; anything else, and all that is wrong, is left to the reader. */
const usual =
  /\{"dtype":"(\w{1,20})","shape":\[((?:(?:0|[1-9]\d{0,14})(?:,(?:0|[1-9]\d{0,14})){0,63})?)\],"data_offsets":\[(0|[1-9]\d{0,14}),(0|[1-9]\d{0,14})\]\}/y;

/**
 * Parses the JSON of a header, which starts at byte 8 of its file.
 * Throws `invalid-utf8`, then `invalid-header` for any fault of form, then `duplicate-name`, then `invalid-dtype`.
 */
export function parseHeader(bytes: Uint8Array): ParsedHeader {
  const json = jsonReader(bytes, "the header", 8);
  const tensors = new Map<string, SafetensorsInfo>();
  const metadata = new Map<string, string>();
  let hasMetadata = false;
  let duplicate: TensorjarError | undefined;
  let unknown: TensorjarError | undefined;
  const add = <V>(map: Map<string, V>, name: string, value: V): void => {
    const { size } = map;
    if (map.set(name, value).size === size) duplicate ??= json.error("duplicate-name", twice);
  };

  // Of one tensor at a time; the callbacks are made once, not for each.
  let type: string | undefined;
  let shape: number[] | undefined;
  let begin: number | undefined;
  let end = 0;
  const numbers: number[] = []; // reused: an array that grows one by one takes room for 17
  const field = (key: string): void => {
    let before: unknown;
    if (key === "dtype") {
      before = type;
      type = json.string();
    } else if (key === "shape") {
      before = shape;
      shape = numbers.slice(0, json.integers(numbers));
    } else if (key === "data_offsets") {
      before = begin;
      const two = json.integers(numbers) === 2;
      [begin = -1, end = -1] = numbers;
      if (!two || begin < 0 || end < 0) {
        throw json.error("invalid-header", "must be two offsets from 0 on");
      }
    } else json.skip();
    if (before !== undefined) throw json.error("invalid-header", twice);
  };
  const text = (key: string): void => add(metadata, key, json.string());
  let sizes = "";
  let sized: readonly number[] = [];
  let last = "0";
  let lastEnd = 0;
  /** Neighbours often share a shape, and one begins where the one before ends. */
  const isUsual = (): boolean => {
    const found = json.match(usual);
    if (found === null) return false;
    type = found[1] as string; // every group is in every match
    const dims = found[2] as string;
    const from = found[3] as string;
    const to = found[4] as string;
    if (dims !== sizes) sized = dims === "" ? [] : dims.split(",").map(Number);
    sizes = dims;
    shape = sized.slice();
    begin = from === last ? lastEnd : Number(from);
    last = to;
    lastEnd = end = Number(to);
    return true;
  };

  json.object((name) => {
    if (name === "__metadata__") {
      if (hasMetadata) throw json.error("invalid-header", twice);
      hasMetadata = true;
      if (json.next() === NULL) json.skip();
      else json.object(text);
      return;
    }
    type = shape = begin = undefined;
    if (!isUsual()) json.object(field);
    if (type === undefined || shape === undefined || begin === undefined) {
      const missing = [
        type === undefined && "no dtype",
        shape === undefined && "no shape",
        begin === undefined && "no data_offsets",
      ];
      throw json.error("invalid-header", `has ${missing.filter(Boolean).join(", ")}`);
    }
    const dtype = dtypeCalled(type);
    if (!dtype) unknown ??= json.error("invalid-dtype", `unknown dtype ${quote(type)}`);
    add(tensors, name, { dtype: dtype as DType, shape, begin, end }); // an unknown dtype ends in its error
  });
  if (duplicate ?? unknown) throw duplicate ?? unknown;
  return { tensors, metadata };
}
