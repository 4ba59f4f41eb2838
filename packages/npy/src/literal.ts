import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

/** The Python values that a header is made of; integers beyond 2^53−1 are bigints. */
export type Literal = string | number | bigint | boolean | null | LiteralSequence | LiteralDict;

export interface LiteralSequence {
  readonly kind: "tuple" | "list";
  readonly items: readonly Literal[];
}

export interface LiteralDict {
  readonly kind: "dict";
  /** By key, with the text that each value was read from; of a key given twice the last counts, as in Python. */
  readonly entries: ReadonlyMap<string, { readonly value: Literal; readonly text: string }>;
}

/** CPython's own limits on open brackets and on the digits of an integer. */
const maxDepth = 200;
const maxDigits = 4300;

const integer =
  /^(?:0[xX](?:_?[\da-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|[1-9](?:_?\d)*|0(?:_?0)*)$/;
const words = new RegExp(`[\\w.]{1,${maxDigits + 1}}`, "y");
const closers = new Map([
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
]);
const constants = new Map([
  ["True", true],
  ["False", false],
  ["None", null],
]);
const escapes = new Map([
  ["\n", ""],
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

/**
 * The value of a Python literal as `ast.literal_eval` reads it; nothing is evaluated. What no header can hold
 * (floats, complex numbers, bytes, sets, keys other than strings) is refused. `longs` admits Python 2's `3L`;
 * `base` is where the text stands in its file. Throws `invalid-header`.
 */
export function parseLiteral(source: string, longs = false, base = 0): Literal {
  const text = source.includes("\r") ? source.replace(/\r\n?/g, "\n") : source;
  let at = 0;
  let depth = 0;

  const fault = (what: string): TensorjarError =>
    new TensorjarError(
      "invalid-header",
      `the header is no Python literal: ${what} at character ${at}`,
      { offset: base },
    );
  const unexpected = (): TensorjarError =>
    fault(at < text.length ? `unexpected ${quote(text.slice(at, at + 20))}` : "it ends too soon");

  const match = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? "";
  };

  /** Passes white space and comments; a newline ends an expression, except within brackets. */
  const skip = (newlines = depth > 0): void => {
    for (;;) {
      const char = text[at];
      if (char === " " || char === "\t" || char === "\f" || (char === "\n" && newlines)) at++;
      else if (char === "\\" && text[at + 1] === "\n" && at + 2 < text.length) at += 2;
      else if (char === "#") {
        const end = text.indexOf("\n", at);
        at = end < 0 ? text.length : end;
      } else return;
    }
  };

  /** What the backslash at hand and the characters after it stand for. */
  const escaped = (): string => {
    const hex = match(/\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})/y);
    const octal = match(/\\[0-7]{1,3}/y);
    const simple = escapes.get(text.charAt(at + 1));
    const code =
      hex !== "" ? Number.parseInt(hex.slice(2), 16) : Number.parseInt(octal.slice(1), 8);
    if (simple === undefined && hex + octal === "" && !"NxuU".includes(text.charAt(at + 1))) {
      at += 1; // Python keeps the backslash of an escape that it does not know
      return "\\";
    }
    if (simple === undefined && !(code <= 0x10ffff)) throw unexpected();
    at += simple === undefined ? hex.length + octal.length : 2;
    return simple ?? String.fromCodePoint(code);
  };

  const string = (raw: boolean): string => {
    const one = text.charAt(at);
    const quotes = text.startsWith(one.repeat(3), at) ? one.repeat(3) : one;
    at += quotes.length;
    let value = "";
    let from = at;
    while (!text.startsWith(quotes, at)) {
      const char = text[at];
      if (char === undefined || (char === "\n" && quotes === one)) {
        throw fault("a string without its closing quote");
      }
      if (char !== "\\") at++;
      else if (raw) at += 2;
      else {
        value += text.slice(from, at) + escaped();
        from = at;
      }
    }
    value += text.slice(from, at);
    at += quotes.length;
    return value;
  };

  const strings = (): string => {
    let value = "";
    for (;;) {
      const start = match(/[uUrR]?['"]/y);
      if (start === "") return value;
      at += start.length - 1;
      value += string(/r/i.test(start));
      skip();
    }
  };

  const number = (word: string, negative: boolean): number | bigint => {
    const digits = longs && word.endsWith("L") ? word.slice(0, -1) : word;
    if (!integer.test(digits)) throw fault(`${quote(word)}, which is no integer,`);
    at += word.length;
    const plain = digits.replaceAll("_", "");
    const exact = BigInt(/^0+$/.test(plain) ? 0 : plain);
    const value = negative ? -exact : exact;
    const rounded = Number(value);
    return Number.isSafeInteger(rounded) ? rounded : value;
  };

  const container = (open: string): Literal => {
    if (++depth > maxDepth) throw fault(`more than ${maxDepth} open brackets`);
    at++;
    const close = closers.get(open);
    const items: Literal[] = [];
    const entries = new Map<string, { value: Literal; text: string }>();
    let comma = false;
    skip();
    while (text[at] !== close) {
      const item = value();
      if (open === "{") {
        skip();
        if (typeof item !== "string" || text[at] !== ":") throw unexpected();
        at++;
        skip();
        const start = at;
        entries.set(item, { value: value(), text: text.slice(start, at).trimEnd() });
      } else items.push(item);
      skip();
      comma = text[at] === ",";
      if (!comma) break;
      at++;
      skip();
    }
    if (text[at] !== close) throw unexpected();
    at++;
    depth--;
    if (open === "{") return { kind: "dict", entries };
    const [first] = items;
    if (open === "(" && items.length === 1 && !comma && first !== undefined) return first;
    return { kind: open === "(" ? "tuple" : "list", items };
  };

  const value = (): Literal => {
    const open = text.charAt(at);
    if (closers.has(open)) return container(open);
    if (/^[uUrR]?['"]/.test(text.slice(at, at + 2))) return strings();
    const signed = open === "+" || open === "-";
    if (signed) {
      at++;
      skip();
    }
    const word = match(words);
    if (/^\d/.test(word) && word.length <= maxDigits) return number(word, open === "-");
    const constant = signed ? undefined : constants.get(word);
    if (constant === undefined) throw unexpected();
    at += word.length;
    return constant;
  };

  if (text.includes("\0")) {
    at = text.indexOf("\0");
    throw unexpected();
  }
  skip(true);
  const result = value();
  skip(true);
  if (at < text.length) throw unexpected();
  return result;
}
