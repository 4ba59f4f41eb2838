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
  /** By key; of a key given twice the last counts, as in Python. */
  readonly entries: ReadonlyMap<string, LiteralEntry>;
}

export interface LiteralEntry {
  readonly value: Literal;
  /** What the value was read from. */
  readonly text: string;
}

/** CPython's own limits: on open brackets, and on the digits of an integer. */
const maxDepth = 200;
const word = /[\w.]{1,4300}/y;

const integer = /^(?:0x(?:_?[\da-f])+|0o(?:_?[0-7])+|0b(?:_?[01])+|[1-9](?:_?\d)*|0(?:_?0)*)$/i;
const stringStart = /([ur]?)("""|'''|"|')/iy;
const numericEscape = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3}))/y;
const escapes = "\n\\'\"abfnrtv";
const meanings = ["", ..."\\'\"\x07\b\f\n\r\t\v"];

/**
 * The value of a Python literal as `ast.literal_eval` reads it; nothing is evaluated. What no header can hold
 * (floats, complex numbers, bytes, sets, keys other than strings) is refused. `longs` admits Python 2's `3L`;
 * `offset` is where the text stands in its file. Throws `invalid-header`.
 */
export function parseLiteral(source: string, longs = false, offset = 0): Literal {
  const text = source.replace(/\r\n?/g, "\n");
  let at = text.indexOf("\0"); // nowhere in Python's source, not even in a comment
  let depth = 0;

  const unexpected = (): TensorjarError =>
    new TensorjarError(
      "invalid-header",
      `the header is no Python literal: ${
        at < text.length ? quote(text.slice(at, at + 20)) : "the end"
      } is not expected at character ${at}`,
      { offset },
    );

  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text) ?? undefined;
  };

  /** Passes white space and comments; a newline ends an expression, except within brackets. */
  const skip = (newlines = depth > 0): void => {
    for (;;) {
      const char = text[at];
      if (char === " " || char === "\t" || char === "\f" || (char === "\n" && newlines)) at++;
      else if (char === "\\" && text[at + 1] === "\n" && at + 2 < text.length) at += 2;
      else if (char === "#") while (at < text.length && text[at] !== "\n") at++;
      else return;
    }
  };

  /** Passes one character and what {@link skip} passes, if it is there. */
  const take = (char: string): boolean => {
    if (text[at] !== char) return false;
    at++;
    skip();
    return true;
  };

  /** What the backslash at hand and the characters after it stand for. */
  const escaped = (): string => {
    const next = text.charAt(at + 1);
    const meaning = next === "" ? undefined : meanings[escapes.indexOf(next)];
    if (meaning !== undefined) {
      at += 2;
      return meaning;
    }
    const [all, two, four, eight, octal] = match(numericEscape) ?? ["\\"];
    const code = octal === undefined ? Number(`0x${two ?? four ?? eight}`) : Number(`0o${octal}`);
    if (all === "\\" ? "xuUN".includes(next) : code > 0x10ffff) throw unexpected();
    at += all.length;
    return all === "\\" ? all : String.fromCodePoint(code); // Python keeps the backslash of an unknown escape
  };

  /** Strings side by side are one. */
  const strings = (): string => {
    let value = "";
    for (let start = match(stringStart); start !== undefined; start = match(stringStart)) {
      const [all, prefix = "", quotes = ""] = start;
      at += all.length;
      let from = at;
      while (!text.startsWith(quotes, at)) {
        const char = text[at];
        if (char === undefined || (char === "\n" && quotes.length === 1)) throw unexpected();
        if (char !== "\\") at++;
        else if (/r/i.test(prefix)) at += 2;
        else {
          value += text.slice(from, at) + escaped();
          from = at;
        }
      }
      value += text.slice(from, at);
      at += quotes.length;
      skip();
    }
    return value;
  };

  const scalar = (): Literal => {
    if (match(stringStart)) return strings();
    const negative = take("-");
    const signed = negative || take("+");
    const name = match(word)?.[0] ?? "";
    const digits = longs ? name.replace(/L$/, "") : name;
    let value: Literal | undefined;
    if (integer.test(digits)) {
      const exact = BigInt(digits.replaceAll("_", ""));
      const number = Number(exact);
      if (Number.isSafeInteger(number)) value = negative ? 0 - number : number;
      else value = negative ? -exact : exact;
    } else if (!signed) {
      value = name === "None" ? null : name === "True" || (name === "False" ? false : undefined);
    }
    if (value === undefined) throw unexpected();
    at += name.length;
    skip();
    return value;
  };

  const parse = (): Literal => {
    const open = text.charAt(at);
    const close = { "(": ")", "[": "]", "{": "}" }[open];
    if (close === undefined) return scalar();
    if (depth++ === maxDepth) throw unexpected();
    take(open);
    const items: Literal[] = [];
    const entries = new Map<string, LiteralEntry>();
    let comma = true;
    while (comma && text[at] !== close) {
      const item = parse();
      if (open === "{") {
        if (typeof item !== "string" || !take(":")) throw unexpected();
        const start = at;
        entries.set(item, { value: parse(), text: text.slice(start, at).trimEnd() });
      } else items.push(item);
      comma = take(",");
    }
    if (text[at] !== close) throw unexpected();
    depth--;
    take(close);
    if (open === "{") return { kind: "dict", entries };
    const [only] = items;
    if (open === "(" && items.length === 1 && !comma && only !== undefined) return only;
    return { kind: open === "(" ? "tuple" : "list", items };
  };

  if (at >= 0) throw unexpected();
  at = 0;
  skip(true);
  const value = parse();
  skip(true);
  if (at < text.length) throw unexpected();
  return value;
}

export function isSequence(value: Literal | undefined): value is LiteralSequence {
  return typeof value === "object" && value !== null && value.kind !== "dict";
}

/** A value as it stands in messages. */
export function kindOf(value: Literal): string {
  if (typeof value === "string") return quote(value);
  return typeof value === "object" && value !== null ? `a ${value.kind}` : String(value);
}
