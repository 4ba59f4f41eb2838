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

/**
 * A strict reader of JSON (RFC 8259) that leaves to its caller what to keep: names given twice are seen, integers keep
 * their digits, and no name is taken for another, as some engines' JSON.parse does. White space before a value is
 * passed over. Whatever is not as asked is `invalid-header`, with its place in the file and the names that lead there.
 */
export class JsonReader {
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #bytes: Uint8Array;
  /** One character per byte, so that strings are slices of it. */
  readonly #text: string;
  readonly #what: string;
  readonly #offset: number;
  readonly #named: number;
  /** The names that lead to where the reader is, from depth 1 on. */
  readonly #path: (string | undefined)[] = [];
  /** The short string last read of each length: the same few keys and dtypes come again and again. */
  readonly #short: string[] = [];
  #at = 0;
  #depth = 0;

  /**
   * `what` names the text in messages, `offset` is where it stands in its file; a name at depth `named` is the `name`
   * of errors. Throws `invalid-utf8`.
   */
  constructor(bytes: Uint8Array, what: string, offset: number, named = 1) {
    this.#bytes = bytes;
    this.#what = what;
    this.#offset = offset;
    this.#named = named;
    let text = decoded(new TextDecoder("utf-8", { ignoreBOM: true }), bytes);
    // Validating takes eight times as long on some engines; as many characters as bytes, none replaced, are ASCII.
    if (text?.length !== bytes.length || text.includes("\ufffd")) text = this.#decode(bytes);
    if (text === undefined) {
      this.#bytes = bytes.slice(); // some TextDecoders refuse shared or resizable memory, which a copy is not
      text = this.#decode(this.#bytes);
    }
    if (text === undefined) {
      throw new TensorjarError("invalid-utf8", `${what} is not valid UTF-8`, { offset });
    }
    this.#text =
      text.length === bytes.length ? text : new TextDecoder("latin1").decode(this.#bytes);
  }

  #decode(bytes: Uint8Array): string | undefined {
    return decoded(this.#utf8, bytes);
  }

  error<C extends TensorjarError["code"]>(
    code: C,
    message: string,
    at: number = this.#at,
  ): TensorjarError<C> {
    const offset = this.#offset + at;
    const path = this.#path.slice(0, this.#depth + 1);
    const names = path.map((name) => (name === undefined ? "" : `, ${quote(name)}`)).join("");
    const name = path[this.#named];
    return new TensorjarError(code, `${this.#what}, byte ${offset}${names}: ${message}`, {
      offset,
      ...(name !== undefined && { name }),
    });
  }

  #expected(what: string, at: number = this.#at): never {
    const found = this.#text.slice(at, at + 16);
    const text = found === "" ? "the end" : quote(found);
    throw this.error("invalid-header", `expected ${what}, found ${text}`, at);
  }

  /** The next byte that is no white space, where the reader then stands; -1 at the end. */
  next(): number {
    const bytes = this.#bytes;
    for (let at = this.#at; at < bytes.length; at++) {
      const byte = bytes[at] as number; // at is within bytes
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
        this.#at = at;
        return byte;
      }
    }
    this.#at = bytes.length;
    return END;
  }

  /** Reads to the end, where only white space is left. */
  end(): void {
    if (this.next() !== END) this.#expected("nothing more");
  }

  string(): string {
    if (this.next() !== QUOTE) this.#expected("a string");
    const bytes = this.#bytes;
    const start = this.#at + 1;
    let plain = true;
    let end = start;
    for (; ; end++) {
      const byte = end < bytes.length ? (bytes[end] as number) : END; // end is within bytes
      if (byte === QUOTE) break;
      if (byte < 0x20) this.#expected("no control character in a string", end);
      if (byte === BACKSLASH) {
        plain = false;
        end++;
      } else if (byte > 0x7f) plain = false;
    }
    this.#at = end + 1;
    if (!plain) return this.#unescaped(start, end);
    const length = end - start;
    if (length > 12) return this.#text.slice(start, end);
    const known = this.#short[length];
    if (known !== undefined && this.#text.startsWith(known, start)) return known;
    const text = this.#text.slice(start, end);
    this.#short[length] = text;
    return text;
  }

  #unescaped(start: number, end: number): string {
    const raw = this.#decode(this.#bytes.subarray(start, end)) ?? ""; // the whole text was checked
    let text: string;
    try {
      text = JSON.parse(`"${raw}"`); // of strings the same grammar, and fast
    } catch {
      this.#expected("a JSON escape in a string", start);
    }
    if (/\p{Surrogate}/u.test(text)) this.#expected("no lone surrogate in a string", start);
    return text;
  }

  /** From 0 to 2^64−1 in plain digits, with `negative` also below 0; past 2^53−1 the nearest double. */
  integer(negative = false): number {
    const minus = this.next() === 0x2d && negative;
    const bytes = this.#bytes;
    const start = minus ? this.#at + 1 : this.#at;
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
      (bytes[start] === 0x30 && (minus || end > start + 1)) ||
      (value > Number.MAX_SAFE_INTEGER && BigInt(this.#text.slice(start, end)) >> 64n > 0n)
    ) {
      this.#expected("an integer from 0 to 2^64-1 in plain digits");
    }
    this.#at = end;
    return minus ? -value : value;
  }

  /** Whether the value is `null`; otherwise it is still to be read. */
  null(): boolean {
    this.next();
    const found = this.#text.startsWith("null", this.#at);
    if (found) this.#at += 4;
    return found;
  }

  /** `member` is called with each name and where it stands, and reads the value. */
  object(member: (name: string, at: number) => void): void {
    this.#open(OPEN_BRACE, "an object");
    if (this.next() !== CLOSE_BRACE) {
      do {
        this.next();
        const at = this.#at;
        const name = this.string();
        this.#path[this.#depth] = name;
        if (this.next() !== COLON) this.#expected('":"');
        this.#at++;
        member(name, at);
      } while (this.#more(CLOSE_BRACE));
    }
    this.#close();
  }

  /** `element` is called for each value, and reads it. */
  array(element: () => void): void {
    this.#open(OPEN_BRACKET, "an array");
    if (this.next() !== CLOSE_BRACKET) {
      do element();
      while (this.#more(CLOSE_BRACKET));
    }
    this.#close();
  }

  #open(bracket: number, what: string): void {
    if (this.next() !== bracket) this.#expected(what);
    if (++this.#depth > maxDepth) this.#expected(`no more than ${maxDepth} levels`);
    this.#path[this.#depth] = undefined;
    this.#at++;
  }

  #more(close: number): boolean {
    const byte = this.next();
    if (byte === close) return false;
    if (byte !== COMMA) this.#expected('"," or the closing bracket');
    this.#at++;
    return true;
  }

  #close(): void {
    this.#at++;
    this.#depth--;
  }

  /** Reads any value and returns its text. */
  skip(): string {
    const byte = this.next();
    const start = this.#at;
    if (byte === QUOTE) this.string();
    else if (byte === OPEN_BRACE) this.object(() => this.skip());
    else if (byte === OPEN_BRACKET) this.array(() => this.skip());
    else {
      word.lastIndex = start;
      const [text] = word.exec(this.#text) ?? [""];
      if (text === "") this.#expected("a value");
      if (Math.abs(Number(text)) === Number.POSITIVE_INFINITY) {
        this.#expected("a number within the range of doubles");
      }
      this.#at += text.length;
    }
    return this.#text.slice(start, this.#at);
  }
}

/** The text of bytes, a byte order mark included; `undefined` when it cannot be told. */
function decoded(decoder: TextDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
