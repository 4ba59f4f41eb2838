import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

export const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const END = -1;

/** Containers inside one another, as serde_json allows them. */
const maxDepth = 127;
const word = /true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const escapeNames = '"\\/bfnrt';
const escapeCharacters = '"\\/\b\f\n\r\t';

/**
 * A strict reader of JSON (RFC 8259) that leaves to its caller what to keep: names given twice are seen, integers keep
 * their digits, and no name is taken for another, as some engines' JSON.parse does. White space before a value is
 * passed over. Whatever is not as asked is `invalid-header`, with its place in the file and its path of names.
 */
export interface JsonReader {
  object(member: (name: string, at: number) => void): void;
  array(element: () => void): void;
  string(): string;
  /** From 0 to 2^64−1 in plain digits, with `negative` also below 0; past 2^53−1 the nearest double. */
  integer(negative?: boolean): number;
  /** The first byte of what comes, -1 at the end. */
  next(): number;
  /** Whether the value is `null`; otherwise it is still to be read. */
  null(): boolean;
  /** Reads any value and returns its text. */
  skip(): string;
  /** Reads to the end, where only white space is left. */
  end(): void;
  error<C extends TensorjarError["code"]>(code: C, message: string, at: number): TensorjarError<C>;
}

/**
 * `what` names the text in messages, `offset` is where it stands in its file; a name at depth `named` is the `name` of
 * errors. Throws `invalid-utf8`.
 */
export function jsonReader(given: Uint8Array, what: string, offset: number, named = 1): JsonReader {
  let bytes = given;
  let text = utf8(bytes);
  if (text === undefined) {
    bytes = given.slice(); // some TextDecoders refuse shared or resizable memory, which a copy is not
    text = utf8(bytes);
  }
  if (text === undefined) {
    throw new TensorjarError("invalid-utf8", `${what} is not valid UTF-8`, { offset });
  }
  // One character per byte, so that strings are slices of it.
  const characters = text.length === bytes.length ? text : new TextDecoder("latin1").decode(bytes);
  const path: (string | undefined)[] = [];
  let at = 0;
  let depth = 0;

  function error<C extends TensorjarError["code"]>(
    code: C,
    message: string,
    where: number,
  ): TensorjarError<C> {
    const names = path
      .slice(1, depth + 1)
      .flatMap((name) => (name === undefined ? [] : quote(name)));
    const name = depth >= named ? path[named] : undefined;
    return new TensorjarError(
      code,
      `${[`${what}, byte ${offset + where}`, ...names].join(", ")}: ${message}`,
      { offset: offset + where, ...(name !== undefined && { name }) },
    );
  }

  function expected(what: string, where = at): never {
    const found = characters.slice(where, where + 16);
    throw error(
      "invalid-header",
      `expected ${what}, found ${found === "" ? "the end" : quote(found)}`,
      where,
    );
  }

  /** The next byte that is no white space, where the reader then stands. */
  function next(): number {
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number; // at is within bytes
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
        return byte;
      }
    }
    return END;
  }

  function string(): string {
    if (next() !== QUOTE) expected("a string");
    const start = at + 1;
    let plain = true;
    let end = start;
    for (; ; end++) {
      const byte = end < bytes.length ? (bytes[end] as number) : END; // end is within bytes
      if (byte === QUOTE) break;
      if (byte < 0x20) expected("no control character in a string", end);
      if (byte === BACKSLASH) {
        plain = false;
        end++;
      } else if (byte > 0x7f) plain = false;
    }
    at = end + 1;
    return plain ? characters.slice(start, end) : unescaped(start, end);
  }

  function unescaped(start: number, end: number): string {
    const raw = utf8(bytes.subarray(start, end)) ?? ""; // the whole text was checked
    const value = raw.replace(/\\(?:u([\da-fA-F]{4})|(.?))/gs, (_, hex?: string, letter = "") => {
      const character = escapeCharacters[letter === "" ? -1 : escapeNames.indexOf(letter)];
      return hex === undefined
        ? (character ?? expected("a JSON escape", start))
        : String.fromCharCode(Number.parseInt(hex, 16));
    });
    if (/\p{Surrogate}/u.test(value)) expected("no lone surrogate in a string", start);
    return value;
  }

  function integer(negative?: boolean): number {
    next();
    const minus = negative && bytes[at] === 0x2d && bytes[at + 1] !== 0x30;
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
      end > start + 20 ||
      (end > start + 1 && bytes[start] === 0x30) ||
      /[.eE]/.test(characters.charAt(end)) ||
      (value > Number.MAX_SAFE_INTEGER && BigInt(characters.slice(start, end)) >> 64n > 0n)
    ) {
      expected("an integer from 0 to 2^64-1 in plain digits");
    }
    at = end;
    return minus ? -value : value;
  }

  function list(open: number, close: number, item: (name: string, at: number) => void): void {
    if (next() !== open) expected(open === OPEN_BRACE ? "an object" : "an array");
    if (++depth > maxDepth) expected(`no more than ${maxDepth} levels`);
    path[depth] = undefined;
    at++;
    if (next() !== close) {
      for (;;) {
        const start = at;
        let name = "";
        if (open === OPEN_BRACE) {
          name = string();
          path[depth] = name;
          if (next() !== COLON) expected('":"');
          at++;
        }
        item(name, start);
        const byte = next();
        if (byte === close) break;
        if (byte !== COMMA) expected(`"," or "${String.fromCharCode(close)}"`);
        at++;
        next();
      }
    }
    at++;
    depth--;
  }

  function skip(): string {
    const byte = next();
    const start = at;
    if (byte === QUOTE) string();
    else if (byte === OPEN_BRACE) list(OPEN_BRACE, CLOSE_BRACE, skip);
    else if (byte === OPEN_BRACKET) list(OPEN_BRACKET, CLOSE_BRACKET, skip);
    else {
      word.lastIndex = at;
      if (!word.test(characters)) expected("a value");
      at = word.lastIndex;
      if (Math.abs(Number(characters.slice(start, at))) === Number.POSITIVE_INFINITY) {
        at = start;
        expected("a number within the range of doubles");
      }
    }
    return characters.slice(start, at);
  }

  return {
    object: (member) => list(OPEN_BRACE, CLOSE_BRACE, member),
    array: (element) => list(OPEN_BRACKET, CLOSE_BRACKET, element),
    string,
    integer,
    next,
    null() {
      next();
      const found = characters.startsWith("null", at);
      if (found) at += 4;
      return found;
    },
    skip,
    end() {
      if (next() !== END) expected("nothing more");
    },
    error,
  };
}

/** The text of UTF-8 bytes, a byte order mark included; `undefined` when it cannot be told. */
function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
