import { TensorjarError } from "@tensorjar/core";
import { classTag, quote } from "@tensorjar/core/codec";

export const QUOTE = 0x22;
export const OPEN_BRACKET = 0x5b;
export const OPEN_BRACE = 0x7b;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;
const END = -1;

/** Containers inside one another, as serde_json allows them. */
const maxDepth = 127;
/** V8's longest string, the shortest of the engines'. */
const maxTextLength = 2 ** 29 - 24;

const otherValue = /(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)/y;
const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/**
 * A strict reader of JSON bytes (RFC 8259) that leaves to its caller what to keep: names given twice are seen,
 * integers keep their digits, and no name is confused with another, as some engines' JSON.parse does.
 */
export class JsonReader {
  /** Index of the next byte. */
  at = 0;
  /** What is being read, as messages say it: "tensor" and its name; set by the caller on the way. */
  kind = "";
  name = "";
  #depth = 0;
  readonly #bytes: Uint8Array;
  /** One character per byte, so that strings are slices of it. */
  readonly #text: string;
  readonly #what: string;
  readonly #offset: number;

  /**
   * `what` names the text in messages, `offset` is where it stands in its file.
   * Throws `invalid-utf8`, and `limit-exceeded` for a text longer than an engine's strings.
   */
  constructor(bytes: Uint8Array, what: string, offset: number) {
    this.#what = what;
    this.#offset = offset;
    if (bytes.length > maxTextLength) {
      throw new TensorjarError("limit-exceeded", `${what} is ${bytes.length} bytes long`, {
        expected: maxTextLength,
        actual: bytes.length,
      });
    }
    this.#bytes = decodable(bytes);
    const text = utf8(this.#bytes);
    if (text === undefined) {
      throw new TensorjarError("invalid-utf8", `${what} is not valid UTF-8`, { offset });
    }
    this.#text =
      text.length === bytes.length ? text : new TextDecoder("latin1").decode(this.#bytes);
  }

  /** Throws `invalid-header`, saying where and what was found. */
  expected(what: string, at: number = this.at): never {
    const found = at < this.#text.length ? quote(this.#text.slice(at, at + 16)) : "the end";
    throw this.error("invalid-header", `expected ${what}, found ${found}`, at);
  }

  /** An error of what is being read, with its byte offset in the file. */
  error<C extends "invalid-header" | "duplicate-name" | "invalid-dtype">(
    code: C,
    message: string,
    at: number = this.at,
  ): TensorjarError<C> {
    const offset = this.#offset + at;
    const { kind, name } = this;
    const where = `${this.#what} (JSON) at byte ${offset}`;
    return kind === ""
      ? new TensorjarError(code, `${where}: ${message}`, { offset })
      : new TensorjarError(code, `${where}: ${kind} ${quote(name)}: ${message}`, { offset, name });
  }

  /** The next byte that is no white space, where the reader then stands; -1 at the end. */
  next(): number {
    const bytes = this.#bytes;
    for (let at = this.at; at < bytes.length; at++) {
      const byte = bytes[at] as number; // at is within bytes
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
        this.at = at;
        return byte;
      }
    }
    this.at = bytes.length;
    return END;
  }

  /** Throws unless nothing but white space is left. */
  end(): void {
    if (this.next() !== END) this.expected("nothing after the object");
  }

  /** The string that starts here. */
  string(): string {
    const bytes = this.#bytes;
    const start = this.at + 1;
    let at = start;
    let plain = true;
    for (; ; at++) {
      const byte = at < bytes.length ? (bytes[at] as number) : END; // at is within bytes
      if (byte === QUOTE) break;
      if (byte < 0x20) this.expected("a string without control characters", at);
      if (byte === BACKSLASH) {
        plain = false;
        at++;
      } else if (byte >= 0x80) plain = false;
    }
    this.at = at + 1;
    return plain ? this.#text.slice(start, at) : this.#unescape(start, at);
  }

  #unescape(start: number, end: number): string {
    const raw = utf8(this.#bytes.subarray(start, end)) ?? ""; // the whole text was checked
    const text = raw.replace(/\\(?:u([0-9a-fA-F]{4})|([^u])|)/gs, (_, hex?: string, char = "") => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (Object.hasOwn(escapes, char)) return escapes[char] as string; // checked just now
      throw this.error("invalid-header", "a string has an unknown escape", start);
    });
    if (/\p{Surrogate}/u.test(text)) {
      throw this.error("invalid-header", "a string has a lone surrogate", start);
    }
    return text;
  }

  /**
   * The integer that starts here, from 0 to 2^64−1 in plain digits; past 2^53−1 the nearest double.
   * `what` names it in messages. With `signed`, also a negative one.
   */
  integer(what: string, signed = false): number {
    const bytes = this.#bytes;
    const start = this.at;
    let at = signed && bytes[start] === 0x2d && bytes[start + 1] !== 0x30 ? start + 1 : start;
    const digits = at;
    let value = 0;
    for (; at < bytes.length; at++) {
      const digit = (bytes[at] as number) - 0x30; // at is within bytes
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const after = at < bytes.length ? (bytes[at] as number) | 0x20 : END; // likewise; | 0x20 is lower case
    if (
      at === digits ||
      (at > digits + 1 && bytes[digits] === 0x30) ||
      after === 0x65 ||
      after === 0x2e ||
      at > digits + 20 ||
      (value > Number.MAX_SAFE_INTEGER &&
        BigInt(this.#text.slice(digits, at)) > 0xffff_ffff_ffff_ffffn)
    ) {
      this.expected(`${what}, an integer from 0 to 2^64-1 in plain digits,`, start);
    }
    this.at = at;
    return digits > start ? -value : value;
  }

  /** Reads an object: `member` is called with each name and where it stands, and reads the value. */
  object(member: (name: string, at: number) => void): void {
    this.#enter();
    this.at++;
    if (this.next() !== CLOSE_BRACE) {
      for (;;) {
        if (this.next() !== QUOTE) this.expected("a name in double quotes");
        const { at } = this;
        const name = this.string();
        if (this.next() !== COLON) this.expected('":"');
        this.at++;
        this.next();
        member(name, at);
        const byte = this.next();
        if (byte === CLOSE_BRACE) break;
        if (byte !== COMMA) this.expected('"," or "}"');
        this.at++;
      }
    }
    this.at++;
    this.#depth--;
  }

  /** Reads an array: `element` is called at the start of each value, and reads it. */
  array(element: () => void): void {
    this.#enter();
    this.at++;
    if (this.next() !== CLOSE_BRACKET) {
      for (;;) {
        this.next();
        element();
        const byte = this.next();
        if (byte === CLOSE_BRACKET) break;
        if (byte !== COMMA) this.expected('"," or "]"');
        this.at++;
      }
    }
    this.at++;
    this.#depth--;
  }

  #enter(): void {
    if (++this.#depth > maxDepth) {
      throw this.error("invalid-header", `nested deeper than ${maxDepth}`);
    }
  }

  /** Whether `null` starts here; it is passed over. */
  null(): boolean {
    const found = this.#text.startsWith("null", this.at);
    if (found) this.at += 4;
    return found;
  }

  /** Passes over the value that starts here, checking it; its text. */
  skip(): string {
    const byte = this.next();
    const start = this.at;
    if (byte === QUOTE) this.string();
    else if (byte === OPEN_BRACE) this.object(() => this.skip());
    else if (byte === OPEN_BRACKET) this.array(() => this.skip());
    else {
      otherValue.lastIndex = this.at;
      if (!otherValue.test(this.#text)) this.expected("a JSON value");
      const value = Number(this.#text.slice(start, otherValue.lastIndex)); // NaN for the three words
      if (Math.abs(value) === Number.POSITIVE_INFINITY) {
        this.expected("a number within the range of doubles");
      }
      this.at = otherValue.lastIndex;
    }
    return this.#text.slice(start, this.at);
  }
}

/** The same bytes in memory that a TextDecoder takes everywhere: neither shared nor resizable. */
function decodable(bytes: Uint8Array): Uint8Array {
  const { buffer } = bytes;
  const plain = classTag(buffer) === "ArrayBuffer" && !("resizable" in buffer && buffer.resizable);
  return plain ? bytes : bytes.slice();
}

/** The text of UTF-8 bytes, a byte order mark included; `undefined` when they are not valid. */
function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
