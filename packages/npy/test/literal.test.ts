import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { parseLiteral } from "../src/literal.js";

const read = (text: string): unknown => JSON.parse(JSON.stringify(parseLiteral(text), plain));

function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  return value instanceof Map
    ? { dict: [...value].map(([key, entry]) => [key, entry.value]) }
    : value;
}

describe("Python literals", () => {
  test.each([
    ["'a'", "a"],
    ['"it\'s"', "it's"],
    ["'''two\nlines'''", "two\nlines"],
    ["'a' \"b\" u'c' r'\\d'", "abc\\d"],
    ["'\\x41\\u00e9\\U0001F600\\101\\7'", "Aé😀A\x07"],
    ["'\\\\\\'\\\"\\a\\b\\f\\n\\r\\t\\v'", "\\'\"\x07\b\f\n\r\t\v"],
    ["'\\q\\8'", "\\q\\8"],
    ["'a\\\nb'", "ab"],
    ["r'\\''", "\\'"],
    ["True", true],
    ["False", false],
    ["None", null],
    ["0", "0n"],
    ["00_0", "0n"],
    ["1_000", "1000n"],
    ["0xFf", "255n"],
    ["0o17", "15n"],
    ["0b_101", "5n"],
    ["+3", "3n"],
    ["- 3", "-3n"],
    ["18446744073709551616", "18446744073709551616n"],
    ["()", []],
    ["(1)", "1n"],
    ["(1,)", ["1n"]],
    ["((1, 2), ())", [["1n", "2n"], []]],
    ["[1, 'a',]", { list: ["1n", "a"] }],
    [
      "{'a': 1, \"b\": (2,)}",
      {
        dict: [
          ["a", "1n"],
          ["b", ["2n"]],
        ],
      },
    ],
    ["{'a': 1, 'a': 2}", { dict: [["a", "2n"]] }],
    [
      "{'__proto__': 1, 'constructor': 2}",
      {
        dict: [
          ["__proto__", "1n"],
          ["constructor", "2n"],
        ],
      },
    ],
    [" \t[1, # one\r\n 2\\\n,\f3]  # end\n\n", { list: ["1n", "2n", "3n"] }],
    ["(1,\r2)\r", ["1n", "2n"]],
  ])("%j", (text, value) => {
    expect(read(text)).toEqual(value);
  });

  test.each([
    "",
    " ",
    "a",
    "True.x",
    "np.int64(1)",
    "1 2",
    "'a' 1",
    "'a",
    "'a\nb'",
    "'''a''",
    "'a'\n'b'",
    "('a')'b'",
    "'\\x4'",
    "'\\u12'",
    "'\\U00110000'",
    "'\\N{BULLET}'",
    "'\\",
    "ur'a'",
    "b'a'",
    "f'a'",
    "03",
    "1__0",
    "1_",
    "0x",
    "1.5",
    "1e5",
    "2j",
    "--1",
    "-(3)",
    "-True",
    "3L",
    "(,)",
    "[1,,]",
    "[1 2]",
    "[1)",
    "(1",
    "{1: 2}",
    "{'a'}",
    "{'a': 1 'b': 2}",
    "{'a' 1}",
    "{**{}}",
    "...",
    "lambda: 1",
    "{}\0",
    "'\0'",
    "{} #\0",
    "{}\u00a0",
    "\ufeff{}",
    "{};",
    "{}\\\n",
    "1".repeat(4301),
  ])("refuses %j", async (text) => {
    await expectError(() => parseLiteral(text), { code: "invalid-header", names: ["character"] });
  });

  test("Python 2's long integers are read where they are asked for", async () => {
    expect(parseLiteral("(3L, 0x10L)", true)).toEqual([3n, 16n]);
    await expectError(() => parseLiteral("(LL,)", true), { code: "invalid-header" });
  });

  test("the text of each value is kept", () => {
    const dict = parseLiteral("{'a': [ 1 ] , 'b':\n(2,)}");
    const texts = dict instanceof Map ? [...dict.values()].map(({ text }) => text) : [];
    expect(texts).toEqual(["[ 1 ]", "(2,)"]);
  });

  test("200 open brackets are read, as in CPython, and no number of them harms", async () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(parseLiteral(nested(200))).toHaveProperty("list");
    for (const depth of [201, 100_000]) {
      await expectError(() => parseLiteral(nested(depth)), { code: "invalid-header" });
      await expectError(() => parseLiteral("(".repeat(depth)), { code: "invalid-header" });
    }
  });

  test("a long literal of any kind is read to its end", () => {
    const count = 100_000;
    expect(parseLiteral("'\\x61'".repeat(count))).toBe("a".repeat(count));
    expect(parseLiteral(`'${"ab".repeat(count)}'`)).toBe("ab".repeat(count));
    expect(parseLiteral(`(${"1,".repeat(count)})`)).toHaveLength(count);
    expect(parseLiteral(`${" \n#\n".repeat(count)}1`)).toBe(1n);
  });
});
