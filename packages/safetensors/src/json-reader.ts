import { type ErrorCode, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

export const QUOTE = 0x22;
/** What null starts with. */
export const NULL = 0x6e;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const ARRAY = 0x5b;
const OBJECT = 0x7b;

/** Containers inside one another, as serde_json allows them. */
const maxDepth = 127;
const word = /true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
/** The rest of a string without escapes: in a process that has just started, ten times as fast as byte by byte. */
const plain = /[ !#-[\]-~]{0,999}"/y; // bounded: without, a long one overflows the stack of patterns
const goodString = "a string without control characters, unknown escapes and lone surrogates";

export interface JsonReader {
  /** An error with the names that lead to the member that is read, and with its place. */
  error(code: ErrorCode, message: string): TensorjarError;
  /** The next character that is no white space, where the reader then stands; -1 at the end. */
  next(): number;
  string(): string;
  /** How many integers there are in an array; `into` holds them. Below 2^64 in plain digits, inexact past 2^53−1. */
  integers(into: number[]): number;
  /** `member` is called with each name, and reads the value. */
  object(member: (name: string) => void): void;
  /** What a sticky pattern finds where the reader stands, and what it then has passed. */
  match(pattern: RegExp): RegExpExecArray | null;
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
  /** One character per byte, so that strings are slices of it. */
  let text = decode(bytes);
  // Validating takes eight times as long on some engines; as many characters as bytes, none replaced, are ASCII.
  if (text.length !== bytes.length || text.includes("\ufffd")) {
    try {
      decode(bytes, "utf-8", true);
    } catch {
      throw new TensorjarError("invalid-utf8", `${what} is not valid UTF-8`, { offset });
    }
    text = decode(bytes, "latin1");
  }
  let at = 0;
  /** The names that lead to where the reader is; containers without one yet are there too. */
  const path: (string | undefined)[] = [];
  /** The same few keys and dtypes come again and again. */
  const short: string[] = [];
  let numbers: number[] = [];
  let count = 0;

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
    throw error(
      "invalid-header",
      `expected ${wanted}, found ${found ? quote(found) : "the end"}`,
      place,
    );
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
    plain.lastIndex = start;
    let end = plain.test(text) ? plain.lastIndex - 1 : start;
    let ascii = true;
    for (; ; end++) {
      const byte = end < bytes.length ? (bytes[end] as number) : 0; // end is within bytes
      if (byte === QUOTE) break;
      if (byte < 0x20) expected(goodString, end);
      if (byte === BACKSLASH) end++;
      if (byte === BACKSLASH || byte > 0x7f) ascii = false;
    }
    at = end + 1;
    if (!ascii) return unescaped(start, end);
    const length = end - start;
    if (length > 12) return text.slice(start, end);
    const slot = ((bytes[start] as number) + length) & 31; // there is a quote at least
    const known = short[slot];
    if (known?.length === length && text.startsWith(known, start)) return known;
    const value = text.slice(start, end);
    short[slot] = value;
    return value;
  };

  const unescaped = (start: number, end: number): string => {
    try {
      const value: string = JSON.parse(`"${decode(bytes.subarray(start, end))}"`); // of strings the same grammar
      if (!/\p{Surrogate}/u.test(value)) return value;
    } catch {}
    return expected(goodString, start);
  };

  const integer = (): void => {
    const minus = next() === 0x2d;
    const start = minus ? at + 1 : at;
    let end = start;
    let value = 0;
    for (; end < bytes.length; end++) {
      const digit = (bytes[end] as number) - 0x30; // end is within bytes
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    if (
      end === start ||
      (bytes[start] === 0x30 && (minus || end > start + 1)) ||
      value > 2e19 ||
      (value > Number.MAX_SAFE_INTEGER && BigInt(text.slice(start, end)) >> 64n > 0n)
    ) {
      expected("an integer from 0 to 2^64-1 in plain digits");
    }
    at = end;
    numbers[count++] = minus ? -value : value;
  };

  const container = (open: number, item: (name: string) => void): void => {
    take(open, open === OBJECT ? "an object" : "an array");
    if (path.push(undefined) > maxDepth) expected(`no more than ${maxDepth} levels`);
    for (let more = false; next() !== open + 2; more = true) {
      if (more) take(COMMA, '"," or the closing bracket');
      let name = "";
      if (open === OBJECT) {
        path[path.length - 1] = name = string();
        take(COLON, '":"');
      }
      item(name);
    }
    at++;
    path.pop();
    if (path.length === 0 && next() >= 0) expected("nothing more");
  };

  const skip = (): string => {
    const code = next();
    const start = at;
    if (code === QUOTE) string();
    else if (code === OBJECT || code === ARRAY) container(code, skip);
    else {
      word.lastIndex = at;
      const found = word.exec(text)?.[0] ?? "";
      if (found === "" || 1 / Number(found) === 0) expected("a value within the range of doubles");
      at += found.length;
    }
    return text.slice(start, at);
  };

  return {
    error,
    next,
    string,
    integers(into) {
      numbers = into;
      count = 0;
      container(ARRAY, integer);
      return count;
    },
    object: (member) => container(OBJECT, member),
    match(pattern) {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found) at = pattern.lastIndex;
      return found;
    },
    skip,
  };
}

/** The text of bytes, a byte order mark included. */
function decode(bytes: Uint8Array, encoding = "utf-8", fatal = false): string {
  const decoder = new TextDecoder(encoding, { fatal, ignoreBOM: true });
  try {
    return decoder.decode(bytes);
  } catch {
    return decoder.decode(bytes.slice()); // some engines refuse shared or resizable memory, which a copy is not
  }
}
