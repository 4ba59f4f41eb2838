import { type ErrorCode, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

export const QUOTE = 0x22;
/** What null starts with. */
export const NULL = 0x6e;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
const ARRAY = 0x5b;
const OBJECT = 0x7b;

/** Containers inside one another, as serde_json allows them. */
const maxDepth = 127;
const word = /true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const integer = /(0|-?[1-9]\d{0,19})(?![\d.eE])/y;
const goodString = "a string without control characters, unknown escapes and lone surrogates";

export interface JsonReader {
  /** One character per byte, and what strings without escapes are slices of. */
  readonly text: string;
  /** An error with the names that lead to the member that is read, and with its place. */
  error(code: ErrorCode, message: string): TensorjarError;
  /** The next character that is no white space, where the reader then stands; -1 at the end. */
  next(): number;
  string(): string;
  /** An array of integers: below 2^64 in plain digits, inexact past 2^53−1. */
  integers(): number[];
  /**
   * `member` is called with each name, and reads the value. Before, `many` may read members from where it is told to,
   * and returns where the last one ends; the same place when there is none.
   */
  object(member: (name: string) => void, many?: (at: number) => number): void;
  /** Reads any value and returns its text. */
  skip(): string;
}

/**
 * A strict reader of JSON (RFC 8259) that leaves to its caller what to keep: names given twice are seen, integers keep
 * their digits, and no name is taken for another, as some engines' JSON.parse does. White space before a value is
 * passed over. Whatever is not as asked is `invalid-header`, with its place in the file and the names that lead there.
 * `what` names the text in messages, `offset` is where it stands in its file; the `named`th of the names that lead to
 * a fault is the `name` of the error. Throws `invalid-utf8`.
 */
export function jsonReader(bytes: Uint8Array, what: string, offset: number, named = 0): JsonReader {
  let text: string;
  try {
    text = decode(bytes);
  } catch {
    throw new TensorjarError("invalid-utf8", `${what} is not valid UTF-8`, { offset });
  }
  if (text.length !== bytes.length) text = decode(bytes, "latin1"); // it is not ASCII
  let at = 0;
  /** The names that lead to where the reader is; containers without one yet are there too. */
  const path: (string | undefined)[] = [];

  const error = (code: ErrorCode, message: string, place = at): TensorjarError => {
    const position = offset + place;
    const names = path.map((name) => (name === undefined ? "" : `, ${quote(name)}`)).join("");
    const name = path[named];
    return new TensorjarError(code, `${what}, byte ${position}${names}: ${message}`, {
      offset: position,
      ...(name !== undefined && { name }),
    });
  };
  const expected = (wanted: string, place = at): never => {
    const found = text.slice(place, place + 16);
    const shown = found ? quote(found) : "the end";
    throw error("invalid-header", `expected ${wanted}, found ${shown}`, place);
  };

  const next = (): number => {
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number; // at is within bytes
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09))
        return byte;
    }
    return -1;
  };
  const take = (code: number, wanted: string): void => {
    if (next() !== code) expected(wanted);
    at++;
  };

  const string = (): string => {
    take(QUOTE, "a string");
    const start = at;
    let end = start;
    let plain = true;
    for (; ; end++) {
      const byte = bytes[end] ?? 0;
      if (byte === QUOTE) break;
      if (byte < 0x20) expected(goodString, end);
      if (byte > 0x7e || byte === BACKSLASH) plain = false;
      if (byte === BACKSLASH) end++;
    }
    at = end + 1;
    if (plain) return text.slice(start, end);
    try {
      const value: string = JSON.parse(decode(bytes.subarray(start - 1, at))); // of strings the same grammar
      if (!/\p{Surrogate}/u.test(value)) return value;
    } catch {}
    return expected(goodString, start);
  };

  const container = (
    open: number,
    item: (name: string) => void,
    many?: (at: number) => number,
  ): void => {
    take(open, open === OBJECT ? "an object" : "an array");
    const depth = path.push(undefined);
    if (depth > maxDepth) expected(`no more than ${maxDepth} levels`);
    if (next() !== open + 2) {
      do {
        const start = at;
        at = many?.(at) ?? at;
        path[depth - 1] = undefined; // what comes next is not in the member before
        if (at > start) continue;
        let name = "";
        if (open === OBJECT) {
          path[depth - 1] = name = string();
          take(0x3a, '":"');
        }
        item(name);
      } while (next() === COMMA && ++at);
    }
    take(open + 2, '"," or the closing bracket');
    path.pop();
    if (depth === 1 && next() >= 0) expected("nothing more");
  };

  /** What a sticky pattern finds where the reader stands, which it then has passed; `wanted` when that is nothing. */
  const match = (pattern: RegExp, wanted: string, fits: (found: string) => boolean): string => {
    next();
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? "";
    if (found === "" || !fits(found)) expected(wanted);
    at += found.length;
    return found;
  };

  const skip = (): string => {
    const code = next();
    const start = at;
    if (code === QUOTE) string();
    else if (code === OBJECT || code === ARRAY) container(code, skip);
    else match(word, "a value within the range of doubles", (found) => 1 / Number(found) !== 0);
    return text.slice(start, at);
  };

  return {
    text,
    error,
    next,
    string,
    integers() {
      const list: number[] = [];
      const wanted = "an integer from 0 to 2^64-1 in plain digits";
      const fits = (digits: string): boolean => digits.length < 20 || BigInt(digits) >> 64n <= 0n;
      container(ARRAY, () => list.push(Number(match(integer, wanted, fits))));
      return list;
    },
    object: (member, many) => container(OBJECT, member, many),
    skip,
  };
}

/** The text of bytes, a byte order mark included. Throws for what is no UTF-8. */
export function decode(bytes: Uint8Array, encoding = "utf-8"): string {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  try {
    return decoder.decode(bytes);
  } catch {
    return decoder.decode(bytes.slice()); // some engines refuse shared or resizable memory, which a copy is not
  }
}
