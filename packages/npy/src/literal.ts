import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

/** The Python values that a header is made of: a tuple is an array, a dict a map. */
export type Literal =
  | string
  | bigint
  | boolean
  | null
  | readonly Literal[]
  | { readonly list: readonly Literal[] }
  | LiteralDict;

/** The value of each key and the text it was read from; of a key given twice the last counts, as in Python. */
export type LiteralDict = Map<string, { readonly value: Literal; readonly text: string }>;

/** CPython's own limits: on open brackets, and on the digits of an integer. */
const maxDepth = 200;
const word = /[\w.]{1,4300}/y;

const integer = /^(?:0(?:x(?:_?[\da-f])+|o(?:_?[0-7])+|b(?:_?[01])+|(?:_?0)*)|[1-9](?:_?\d)*)$/i;
const stringStart = /([ur]?)("""|'''|"|')/iy;
const escapes = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|.)/gs;
/** How NumPy 2 prints a scalar: writers that print shapes leave it in them. */
const numpyScalar = /^(np|numpy)\.u?int\d*\(/;
/** White space, a line continued on the next, or a comment. */
const blank = /[ \t\f\n]|\\\n(?!$)|#[^\n]*/y;
const constants = new Map([
  ["True", true],
  ["False", false],
  ["None", null],
]);

/**
 * The value of a Python literal as `ast.literal_eval` reads it; nothing is evaluated. What no header can hold
 * (floats, complex numbers, bytes, sets, keys other than strings) is refused. `longs` admits Python 2's `3L`.
 * Throws `invalid-header`, and `invalid-shape` for a NumPy scalar within, such as `np.int64(3)`.
 */
export function parseLiteral(source: string, longs = false): Literal {
  const text = source.replace(/\r\n?/g, "\n");
  let at = text.indexOf("\0"); // nowhere in Python's source, not even in a comment
  let depth = 0;

  const unexpected = (): TensorjarError => {
    const rest = text.slice(at, at + 20);
    return new TensorjarError(
      depth > 1 && numpyScalar.test(rest) ? "invalid-shape" : "invalid-header",
      `the header is no Python literal at character ${at}: ${quote(rest)}`,
    );
  };

  const match = (pattern: RegExp): readonly string[] => {
    pattern.lastIndex = at;
    return pattern.exec(text) ?? [];
  };

  /** Passes white space and comments; a newline ends an expression, except within brackets. */
  const skip = (newlines = depth > 0): void => {
    for (;;) {
      const [passed = ""] = match(blank);
      if (passed === "" || (passed === "\n" && !newlines)) return;
      at += passed.length;
    }
  };

  /** Passes `wanted` and what {@link skip} passes, if it is there. */
  const take = (wanted: string): boolean => {
    const there = text.startsWith(wanted, at);
    if (there) {
      at += wanted.length;
      skip();
    }
    return there;
  };

  /** What a backslash and the characters after it stand for. */
  const unescaped = (
    all: string,
    two?: string,
    four?: string,
    eight?: string,
    octal?: string,
  ): string => {
    const next = all.charAt(1);
    const simple = "\\'\"abfnrtv\n".indexOf(next);
    if (simple >= 0) return "\\'\"\x07\b\f\n\r\t\v".charAt(simple);
    const hex = two ?? four ?? eight;
    const code = Number.parseInt(hex ?? octal ?? "", hex ? 16 : 8);
    if (code > 0x10ffff || (!(code >= 0) && "xuUN".includes(next))) throw unexpected();
    return code >= 0 ? String.fromCodePoint(code) : all; // Python keeps the backslash of an unknown escape
  };

  const parse = (): Literal => {
    const open = text.charAt(at);
    let string: string | undefined;
    for (;;) {
      const [start, prefix = "", quotes = ""] = match(stringStart);
      if (start === undefined) break;
      at += start.length;
      const from = at;
      while (!text.startsWith(quotes, at)) {
        const char = text[at];
        if (char === undefined || (char === "\n" && quotes.length === 1)) throw unexpected();
        at += char === "\\" ? 2 : 1;
      }
      const body = text.slice(from, at);
      string = (string ?? "") + (/r/i.test(prefix) ? body : body.replace(escapes, unescaped));
      take(quotes); // strings side by side are one
    }
    if (string !== undefined) return string;
    const close = { "(": ")", "[": "]", "{": "}" }[open];
    if (close === undefined) {
      const signed = take("-") || take("+");
      const [name = ""] = match(word);
      const digits = longs ? name.replace(/L$/, "") : name;
      const constant = signed ? undefined : constants.get(name);
      if (constant === undefined && !integer.test(digits)) throw unexpected();
      take(name);
      if (constant !== undefined) return constant;
      const value = BigInt(digits.replaceAll("_", ""));
      return open === "-" ? -value : value;
    }
    if (depth++ === maxDepth) throw unexpected();
    take(open);
    const list: Literal[] = [];
    const dict: LiteralDict = new Map();
    let comma = true;
    while (comma && text[at] !== close) {
      const item = parse();
      if (open === "{") {
        if (typeof item !== "string" || !take(":")) throw unexpected();
        const from = at;
        const value = parse();
        dict.set(item, { value, text: text.slice(from, at).trimEnd() });
      } else list.push(item);
      comma = take(",");
    }
    if (text[at] !== close) throw unexpected();
    depth--;
    take(close);
    if (open === "{") return dict;
    const [only = null] = list;
    return open === "[" ? { list } : comma || list.length > 1 ? list : only;
  };

  if (at >= 0) throw unexpected();
  at = 0;
  skip(true);
  const value = parse();
  skip(true);
  if (at < text.length) throw unexpected();
  return value;
}
