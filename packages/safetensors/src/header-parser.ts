import type { DType, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { dtypeCalled } from "./dtype-names.js";
import { BACKSLASH, COMMA, decode, jsonReader, NULL, QUOTE } from "./json-reader.js";

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

/**
 * Parses the JSON of a header, which starts at byte 8 of its file.
 * Throws `invalid-utf8`, then `invalid-header` for any fault of form, then `duplicate-name`, then `invalid-dtype`.
 * `fast` leaves tensors as most writers write them to a loop without calls; all that is unusual or wrong, it leaves
 * to the reader.
 */
export function parseHeader(bytes: Uint8Array, fast = true): ParsedHeader {
  const json = jsonReader(bytes, "the header", 8);
  const { text } = json;
  const tensors = new Map<string, SafetensorsInfo>();
  const metadata = new Map<string, string>();
  let entries = 0;
  let hasMetadata = false;
  let duplicate: TensorjarError | undefined;
  let unknown: TensorjarError | undefined;
  const refuse: (message: string) => never = (message) => {
    throw json.error("invalid-header", message);
  };
  const add = <V>(map: Map<string, V>, name: string, value: V): void => {
    const { size } = map;
    if (map.set(name, value).size === size) duplicate ??= json.error("duplicate-name", twice);
  };

  const dims: number[] = []; // reused: an array that grows one by one takes room for 17
  /** Reads tensors of the usual form from one that starts at `from`, and returns where the last of them ends. */
  const usual = (from: number): number => {
    let last = from;
    for (let at = from; bytes[at] === QUOTE; at = last + 1) {
      const start = ++at;
      let ascii = true;
      for (let byte = 0; byte !== QUOTE; at++) {
        byte = bytes[at] ?? 0;
        if (byte < 0x20 || byte === BACKSLASH) return last;
        if (byte > 0x7e) ascii = false;
      }
      const name = ascii ? text.slice(start, at - 1) : decode(bytes.subarray(start, at - 1));
      if (!text.startsWith(':{"dtype":"', at)) return last;
      const type = at + 11;
      at = text.indexOf('"', type);
      const dtype = dtypeCalled(text.slice(type, at));
      if (!dtype || name === "__metadata__" || !text.startsWith('","shape":[', at)) return last;
      at += 11;
      let count = 0;
      let rank = -1;
      let begin = 0;
      let end = 0;
      for (;;) {
        if (rank < 0 && bytes[at] === 0x5d) {
          if (!text.startsWith('],"data_offsets":[', at)) return last;
          rank = count;
          at += 18;
        } else if (count > 0 && bytes[at++] !== COMMA) break;
        const first = at;
        let value = 0;
        for (; ; at++) {
          const digit = (bytes[at] ?? 0) - 0x30;
          if (digit < 0 || digit > 9) break;
          value = value * 10 + digit;
        }
        const digits = at - first;
        if (digits < 1 || digits > 15 || (digits > 1 && bytes[first] === 0x30)) return last;
        if (rank < 0) dims[count] = value;
        begin = end;
        end = value;
        count++;
      }
      if (count !== rank + 2 || !text.startsWith("]}", at - 1)) return last;
      tensors.set(name, { dtype, shape: dims.slice(0, rank), begin, end });
      entries++;
      last = at + 1;
      if (bytes[last] !== COMMA) break;
    }
    return last;
  };

  // Of one tensor at a time.
  let type: string | undefined;
  let shape: number[] | undefined;
  let offsets: number[] | undefined;
  const once = <V>(before: V | undefined, value: V): V =>
    before === undefined ? value : refuse(twice);
  const field = (key: string): void => {
    if (key === "dtype") type = once(type, json.string());
    else if (key === "shape") shape = once(shape, json.integers());
    else if (key === "data_offsets") {
      offsets = once(offsets, json.integers());
      if (offsets.length !== 2 || Math.min(...offsets) < 0) refuse("must be two offsets from 0 on");
    } else json.skip();
  };

  json.object(
    (name) => {
      if (name === "__metadata__") {
        if (hasMetadata) refuse(twice);
        hasMetadata = true;
        if (json.next() === NULL) json.skip();
        else json.object((key) => add(metadata, key, json.string()));
        return;
      }
      json.object(field);
      if (type === undefined || shape === undefined || offsets === undefined) {
        const missing = [
          type === undefined && "no dtype",
          shape === undefined && "no shape",
          offsets === undefined && "no data_offsets",
        ];
        return refuse(`has ${missing.filter(Boolean).join(", ")}`);
      }
      const dtype = dtypeCalled(type);
      if (!dtype) unknown ??= json.error("invalid-dtype", `unknown dtype ${quote(type)}`);
      const [begin = 0, end = 0] = offsets; // both are there
      add(tensors, name, { dtype: dtype as DType, shape, begin, end }); // an unknown dtype ends in its error
      entries++;
      type = shape = offsets = undefined;
    },
    fast ? usual : undefined,
  );
  if (tensors.size < entries && fast) return parseHeader(bytes, false); // which tells what is there twice
  if (duplicate ?? unknown) throw duplicate ?? unknown;
  return { tensors, metadata };
}
