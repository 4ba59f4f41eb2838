import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";
import { maxDepth } from "./json.js";

/** Sticky patterns of what is passed at once; runs are bounded, since a long one overflows the stack of patterns. */
const blanks = /[ \t\n\r]{1,999}/y;
const digits = /\d{1,999}/y;
const plain = /[^"\\\0-\x1f]{1,999}/y;
const escaped = /["\\/bfnrt]/y;
const hexadecimal = /[\da-f]/iy;
const exponent = /e/iy;
const sign = /[+-]/y;
const words: { readonly [first: string]: string } = { t: "true", f: "false", n: "null" };

/**
 * Throws for a text that is not JSON (RFC 8259), which a checkpoint holds as `name`: `invalid-checkpoint` with the
 * first character that cannot stand there, counted as strings are indexed, and `limit-exceeded` for more than
 * {@link maxDepth} levels. Where numbers must be `finite`, one past the range of doubles is a fault too.
 * For texts that `JSON.parse` has refused: engines tell the place each in its way, or not at all.
 */
export function checkJson(text: string, name: string, finite: boolean): void {
  let at = 0;
  /** What closes the containers that are open. */
  const closers: ("}" | "]")[] = [];
  /** Where the first container is that is inside too many others. */
  let deep: number | undefined;

  const fault = (wanted: string, position = at): TensorjarError => {
    let found = quote(text.slice(position, position + 16));
    if (position === text.length) found = "the end";
    if (text[position] === "\ufeff") found = "a byte order mark";
    return new TensorjarError(
      "invalid-checkpoint",
      `the ${name} of the checkpoint is not JSON: expected ${wanted}, found ${found} at position ${position}`,
      { name },
    );
  };

  /** Passes what `pattern` finds next, or a character. */
  function take(next: RegExp | string): boolean {
    if (typeof next === "string") {
      if (text[at] !== next) return false;
      at++;
      return true;
    }
    next.lastIndex = at;
    if (!next.test(text)) return false;
    at = next.lastIndex;
    return true;
  }

  function takeAll(pattern: RegExp): void {
    while (take(pattern));
  }

  function need(next: RegExp | string, wanted: string): void {
    if (!take(next)) throw fault(wanted);
  }

  function takeDigits(): void {
    need(digits, "a digit");
    takeAll(digits);
  }

  function takeString(): void {
    need('"', "a string");
    for (takeAll(plain); !take('"'); takeAll(plain)) {
      need("\\", "the rest of a string without control characters");
      if (take("u")) for (let i = 0; i < 4; i++) need(hexadecimal, "a hexadecimal digit");
      else need(escaped, "an escape");
    }
  }

  function takeNumber(): void {
    const start = at;
    take("-");
    if (!take("0")) takeDigits();
    if (take(".")) takeDigits();
    if (take(exponent)) {
      take(sign);
      takeDigits();
    }
    if (finite && !Number.isFinite(Number(text.slice(start, at)))) {
      throw fault("a number within the range of doubles", start);
    }
  }

  function takeWord(word: string): void {
    for (const letter of word) {
      if (text[at] !== letter) throw fault(word);
      at++;
    }
  }

  /** Passes a value without parts, or enters one that has some: `true` when the first of them is what comes next. */
  function enter(): boolean {
    takeAll(blanks);
    const first = text.charAt(at);
    if (first === "{" || first === "[") {
      if (closers.length === maxDepth) deep ??= at;
      const closer = first === "{" ? "}" : "]";
      closers.push(closer);
      at++;
      takeAll(blanks);
      if (text[at] === closer) return false;
      if (closer === "}") takeKey();
      return true;
    }
    const word = words[first];
    if (word !== undefined) takeWord(word);
    else if (first === '"') takeString();
    else if (first === "-" || (first >= "0" && first <= "9")) takeNumber();
    else throw fault("a value");
    return false;
  }

  function takeKey(): void {
    takeAll(blanks);
    takeString();
    takeAll(blanks);
    need(":", '":"');
  }

  /** Leaves what ends here: `true` when another value comes next. */
  function leave(): boolean {
    for (;;) {
      takeAll(blanks);
      const closer = closers.at(-1);
      if (closer === undefined) {
        if (at < text.length) throw fault("nothing more");
        return false;
      }
      if (take(",")) {
        if (closer === "}") takeKey();
        return true;
      }
      if (text[at] !== closer) throw fault(`"," or "${closer}"`);
      closers.pop();
      at++;
    }
  }

  while (enter() || leave());
  if (deep === undefined) return;
  throw new TensorjarError(
    "limit-exceeded",
    `the ${name} of the checkpoint is nested deeper than ${maxDepth} levels, at position ${deep}`,
    { name, expected: maxDepth },
  );
}
