import type { ErrorCode } from "@tensorjar/core";
import { describe, expect, it } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import {
  decodeSafetensors,
  encodeSafetensorsHeader,
  parseSafetensorsHeader,
} from "../src/index.js";
import { entry, fileOf } from "./files.js";

const parse = (header: string | Uint8Array) => parseSafetensorsHeader(fileOf(header));
const w = (fields: string) => `{"w":{${fields}}}`;
const dtype = '"dtype":"U8"';
const shape = '"shape":[1]';
const offsets = '"data_offsets":[0,1]';

describe("a header", () => {
  it("gives dtypes, shapes, places, metadata and the size of the file", () => {
    const text = `{"__metadata__":{"a":"1"},${entry("x", "F32", [2, 3], 0, 24)},${entry("y", "BOOL", [], 24, 25)}}`;
    const { tensors, metadata, dataOffset, size } = parse(text);
    expect([...tensors]).toEqual([
      ["x", { dtype: "float32", shape: [2, 3], begin: 0, end: 24 }],
      ["y", { dtype: "bool", shape: [], begin: 24, end: 25 }],
    ]);
    expect([...metadata]).toEqual([["a", "1"]]);
    expect([dataOffset, size]).toEqual([8 + text.length, 8 + text.length + 25]);
  });

  it("may have fields in any order, white space everywhere and unknown fields of any kind", () => {
    const values = `null true false 0 -0 -1.5e+3 2E-2 "\\u0041\\n" [] {} [[1,{"a":[]}],2] {"b":{},"c":"d"}`;
    for (const value of values.split(" ")) {
      const text = `\t{ "w" :\r\n{ "extra" : ${value} , ${offsets},"shape" : [ 1 ] ,${dtype}, "data" : 1} } `;
      expect([...parse(text).tensors.keys()], value).toEqual(["w"]);
    }
  });

  it("reads entries of the usual form beside others alike, whichever comes first", () => {
    const unusual = `"e": { "shape":[1], "dtype":"I64", "d\\u0061ta_offsets":[8,16] }`;
    const usual = entry("u", "F64", [], 0, 8);
    const other = entry("o", "U8", [4], 16, 20);
    for (const order of [
      [unusual, usual, other],
      [usual, unusual, other],
      [other, unusual, usual],
      [other, usual, unusual],
    ]) {
      const { tensors } = parse(`{${order.join()}}`);
      expect([...tensors].map(([name, { begin, end }]) => [name, begin, end])).toEqual([
        ["u", 0, 8],
        ["e", 8, 16],
        ["o", 16, 20],
      ]);
    }
  });

  it("reads names of every script and escaped dtypes in entries that are usual else", async () => {
    const escaped = `"e":{"dtype":"\\u00558","shape":[2],"data_offsets":[0,2]}`;
    const { tensors } = parse(`{${escaped},${entry("läyer.é", "I8", [], 2, 3)}}`);
    expect([...tensors]).toEqual([
      ["e", { dtype: "uint8", shape: [2], begin: 0, end: 2 }],
      ["läyer.é", { dtype: "int8", shape: [], begin: 2, end: 3 }],
    ]);
    await expectError(() => parse(`{${entry("__metadata__", "U8", [0], 0, 0)}}`), {
      code: "invalid-header",
    });
  });

  it("tells where a name stands the second time", async () => {
    const one = entry("w", "U8", [0], 0, 0);
    const { details } = await expectError(
      () => parse(`{${one},${entry("v", "U8", [0], 0, 0)},${one}}`),
      {
        code: "duplicate-name",
        names: ['"w"'],
      },
    );
    expect(details.name).toBe("w");
    expect(details.offset).toBeGreaterThan(2 * one.length);
  });

  it("gives tensors in the order of the data, those of no bytes in their place and in the header's order", () => {
    const text = `{${[
      entry("c", "U8", [2], 2, 4),
      entry("z2", "F32", [0], 2, 2),
      entry("a", "U8", [2], 0, 2),
      entry("z1", "I64", [3, 0], 2, 2),
      entry("end", "U8", [0], 4, 4),
    ]}}`;
    expect([...parse(text).tensors.keys()]).toEqual(["a", "z2", "z1", "c", "end"]);
  });

  it("may name tensors and metadata like anything of Object.prototype", () => {
    const names = ["__proto__", "constructor", "0", "", "toString"];
    const text = `{"__metadata__":{"__proto__":"x"},${names.map((name) => entry(name, "U8", [0], 0, 0))}}`;
    const { tensors, metadata } = parse(text);
    expect([...tensors.keys()]).toEqual(names);
    expect([...metadata]).toEqual([["__proto__", "x"]]);
  });

  it("takes every escape and every kind of character in strings", () => {
    const text = `{"__metadata__":{${String.raw`"\"\\\/\b\f\n\r\t":"\u00e9\ud83d\ude00`}é😀\u2028\u007f"}}`;
    const expected = ['"\\/\b\f\n\r\t', "é😀é😀\u2028\u007f"];
    expect([...parse(text).metadata]).toEqual([expected]);
  });

  it("keeps names apart that an engine may mix up", () => {
    const names = ["\\", '"', "\\\\", "a\\", 'a"', "\\n", "\n", "é", "e\u0301", "short", "shart"];
    const text = `{${names.map((name) => entry(name, "U8", [0], 0, 0))}}`;
    expect([...parse(text).tensors.keys()]).toEqual(names);
  });

  it("holds containers up to 127 deep", async () => {
    const nested = (depth: number) =>
      `{"w":{${dtype},${shape},${offsets},"x":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
    expect(parse(nested(125)).tensors.size).toBe(1);
    await expectError(() => parse(nested(126)), { code: "invalid-header", names: ["127"] });
    await expectError(() => parse(nested(200_000)), { code: "invalid-header" });
    await expectError(() => parse(`${'{"a":'.repeat(200_000)}`), { code: "invalid-header" });
  });
});

const broken: [title: string, header: string, code: ErrorCode, ...names: string[]][] = [
  ["no JSON", "", "invalid-header", "an object"],
  ["an array", "[]", "invalid-header", "an object", "byte 8"],
  ["cut in a name", '{"w', "invalid-header", "no control character|the end"],
  ["a name without value", '{"w"}', "invalid-header", '":"'],
  ["a comma at the end", `{"w":{${dtype},${shape},${offsets}},}`, "invalid-header", "a string"],
  ["a comma at the start", "{,}", "invalid-header"],
  ["two values without comma", `{"__metadata__":{"a":"1" "b":"2"}}`, "invalid-header", ","],
  ["a name without quotes", "{w:1}", "invalid-header", "a string"],
  ["something after the object", '{} "x"', "invalid-header", "nothing more"],
  ["NUL after the object", "{}\0\0", "invalid-header", "nothing more"],
  ["a byte order mark", "\ufeff{}", "invalid-header"],
  ["a no-break space", "\u00a0{}", "invalid-header"],
  ["a vertical tab", "\v{}", "invalid-header"],
  ["a control character in a string", '{"a\u0001":1}', "invalid-header", "control"],
  ["an unknown escape", String.raw`{"a\x41":{}}`, "invalid-header", "escape"],
  ["an upper case escape", String.raw`{"a\U0041":{}}`, "invalid-header", "escape"],
  ["half a unicode escape", String.raw`{"a\u00g0":{}}`, "invalid-header", "escape"],
  ["a lone high surrogate", String.raw`{"\ud800":{}}`, "invalid-header", "surrogate"],
  ["a lone low surrogate", String.raw`{"\udc00x":{}}`, "invalid-header", "surrogate"],
  [
    "a high surrogate before a letter",
    String.raw`{"\ud800\u0041":{}}`,
    "invalid-header",
    "surrogate",
  ],
  ["dtype twice", w(`${dtype},${dtype},${shape},${offsets}`), "invalid-header", '"w"', "dtype"],
  ["shape twice", w(`${dtype},${shape},${shape},${offsets}`), "invalid-header", '"w"', "shape"],
  [
    "offsets twice",
    w(`${dtype},${shape},${offsets},${offsets}`),
    "invalid-header",
    '"w"',
    "data_offsets",
  ],
  ["no dtype", w(`${shape},${offsets}`), "invalid-header", '"w"', "no dtype"],
  ["no shape", w(`${dtype},${offsets}`), "invalid-header", '"w"', "no shape"],
  ["no offsets", w(`${dtype},${shape}`), "invalid-header", '"w"', "no data_offsets"],
  ["an empty entry", w(""), "invalid-header", '"w"', "no dtype, no shape, no data_offsets"],
  ["an entry that is text", '{"w":"x"}', "invalid-header", '"w"', "an object"],
  ["an entry that is null", '{"w":null}', "invalid-header", '"w"', "an object"],
  ["an entry that is an array", '{"w":["U8",[1],[0,1]]}', "invalid-header", '"w"'],
  [
    "a dtype that is a number",
    w(`"dtype":5,${shape},${offsets}`),
    "invalid-header",
    '"w"',
    "dtype",
  ],
  [
    "a dtype that is an object",
    w(`"dtype":{"U8":null},${shape},${offsets}`),
    "invalid-header",
    '"w"',
  ],
  ["a dtype in lower case", w(`"dtype":"u8",${shape},${offsets}`), "invalid-dtype", '"w"', '"u8"'],
  ["an empty dtype", w(`"dtype":"",${shape},${offsets}`), "invalid-dtype", '"w"'],
  ["a dtype of ours", w(`"dtype":"float32",${shape},${offsets}`), "invalid-dtype", "float32"],
  [
    "a shape that is a number",
    w(`${dtype},"shape":1,${offsets}`),
    "invalid-header",
    '"w"',
    "shape",
  ],
  [
    "a dimension that is text",
    w(`${dtype},"shape":["1"],${offsets}`),
    "invalid-header",
    "shape",
    "digits",
  ],
  [
    "a dimension that is true",
    w(`${dtype},"shape":[true],${offsets}`),
    "invalid-header",
    "shape",
    "digits",
  ],
  ["a dimension 1.0", w(`${dtype},"shape":[1.0],${offsets}`), "invalid-header", '"w"', "shape"],
  ["a dimension 1e0", w(`${dtype},"shape":[1e0],${offsets}`), "invalid-header", '"w"', "shape"],
  ["a dimension 01", w(`${dtype},"shape":[01],${offsets}`), "invalid-header", "shape", "digits"],
  ["a dimension 00", w(`${dtype},"shape":[00],${offsets}`), "invalid-header", "shape", "digits"],
  ["a dimension -0", w(`${dtype},"shape":[-0],${offsets}`), "invalid-header", "shape", "digits"],
  ["a dimension -01", w(`${dtype},"shape":[-01],${offsets}`), "invalid-header", "shape", "digits"],
  ["a dimension -", w(`${dtype},"shape":[-],${offsets}`), "invalid-header", "shape", "digits"],
  ["a dimension +1", w(`${dtype},"shape":[+1],${offsets}`), "invalid-header", "shape", "digits"],
  [
    "a dimension 2^64",
    w(`${dtype},"shape":[18446744073709551616],${offsets}`),
    "invalid-header",
    "2\\^64",
  ],
  [
    "a dimension of 21 digits",
    w(`${dtype},"shape":[100000000000000000000],${offsets}`),
    "invalid-header",
  ],
  [
    "a dimension of a million digits",
    w(`${dtype},"shape":[${"9".repeat(1_000_000)}],${offsets}`),
    "invalid-header",
  ],
  [
    "a dimension 2^64-1",
    w(`${dtype},"shape":[18446744073709551615],${offsets}`),
    "invalid-shape",
    '"w"',
  ],
  ["a negative dimension", w(`${dtype},"shape":[-1],${offsets}`), "invalid-shape", '"w"'],
  [
    "a comma after the last dimension",
    w(`${dtype},"shape":[1,],${offsets}`),
    "invalid-header",
    "shape",
  ],
  ["a shape that is not closed", w(`${dtype},"shape":[1}`), "invalid-header", "shape"],
  ["no offset", w(`${dtype},${shape},"data_offsets":[]`), "invalid-header", '"w"', "two offsets"],
  ["one offset", w(`${dtype},${shape},"data_offsets":[0]`), "invalid-header", '"w"', "two offsets"],
  [
    "three offsets",
    w(`${dtype},${shape},"data_offsets":[0,1,1]`),
    "invalid-header",
    '"w"',
    "two offsets",
  ],
  [
    "a negative offset",
    w(`${dtype},${shape},"data_offsets":[-1,0]`),
    "invalid-header",
    "data_offsets",
  ],
  ["metadata that is text", '{"__metadata__":"x"}', "invalid-header", "__metadata__"],
  ["metadata with a number", '{"__metadata__":{"step":1}}', "invalid-header", "step", "a string"],
  ["metadata with null", '{"__metadata__":{"step":null}}', "invalid-header", "step", "a string"],
  [
    "metadata twice",
    '{"__metadata__":{},"__metadata__":{}}',
    "invalid-header",
    "__metadata__",
    "twice",
  ],
  [
    "metadata twice, null first",
    '{"__metadata__":null,"__metadata__":null}',
    "invalid-header",
    "twice",
  ],
  ["a word cut short", '{"__metadata__":nul}', "invalid-header"],
  [
    "an unknown field that is no value",
    w(`"x":nope,${dtype},${shape},${offsets}`),
    "invalid-header",
    "a value",
  ],
  ["an unknown field 01", w(`"x":01,${dtype},${shape},${offsets}`), "invalid-header"],
  ["an unknown field .5", w(`"x":.5,${dtype},${shape},${offsets}`), "invalid-header", "a value"],
  [
    "an unknown field past the doubles",
    w(`"x":-1e999,${dtype},${shape},${offsets}`),
    "invalid-header",
    "doubles",
  ],
  [
    "an unknown field with a bad string",
    w(`"x":["\\q"],${dtype},${shape},${offsets}`),
    "invalid-header",
    "escape",
  ],
  [
    "a key of metadata twice",
    '{"__metadata__":{"k":"1","k":"1"}}',
    "duplicate-name",
    '"k"',
    "twice",
  ],
  [
    "a tensor twice",
    `{${entry("w", "U8", [0], 0, 0)},${entry("w", "U8", [0], 0, 0)}}`,
    "duplicate-name",
    '"w"',
  ],
  [
    "a tensor twice, once escaped",
    `{${entry("w", "U8", [0], 0, 0)},"\\u0077":{${dtype},"shape":[0],"data_offsets":[0,0]}}`,
    "duplicate-name",
    '"w"',
  ],
  [
    "a first tensor after the start",
    `{${entry("w", "U8", [1], 1, 2)}}`,
    "invalid-offsets",
    '"w"',
    "begin at 0",
  ],
  [
    "a hole",
    `{${entry("a", "U8", [1], 0, 1)},${entry("w", "U8", [1], 2, 3)}}`,
    "invalid-offsets",
    '"w"',
    "begin at 1",
  ],
  [
    "an overlap",
    `{${entry("a", "U8", [2], 0, 2)},${entry("w", "U8", [2], 1, 3)}}`,
    "invalid-offsets",
    '"w"',
  ],
  [
    "no bytes inside another",
    `{${entry("a", "U8", [2], 0, 2)},${entry("w", "U8", [0], 1, 1)}}`,
    "invalid-offsets",
    '"w"',
  ],
  [
    "an end before the start",
    `{${entry("w", "U8", [1], 1, 0)}}`,
    "invalid-offsets",
    '"w"',
    "before",
  ],
  [
    "an end before the start, second",
    `{${entry("a", "U8", [2], 0, 2)},${entry("w", "U8", [1], 2, 1)}}`,
    "invalid-offsets",
  ],
  [
    "too few bytes for the shape",
    `{${entry("w", "F32", [2], 0, 4)}}`,
    "invalid-offsets",
    '"w"',
    "8 bytes",
  ],
  [
    "too many bytes for the shape",
    `{${entry("w", "F32", [], 0, 8)}}`,
    "invalid-offsets",
    '"w"',
    "4 bytes",
  ],
  [
    "a shape whose product passes 2^53 before a 0",
    `{${entry("w", "U8", [2 ** 40, 2 ** 40, 0], 0, 0)}}`,
    "invalid-shape",
    '"w"',
  ],
  [
    "a shape whose bytes pass 2^53",
    `{${entry("w", "F64", [2 ** 51], 0, 8)}}`,
    "invalid-shape",
    '"w"',
  ],
  ["half a byte", `{${entry("w", "F4", [3], 0, 1)}}`, "invalid-shape", '"w"', "float4"],
  ["bits that fill no bytes", `{${entry("w", "F6_E2M3", [2], 0, 1)}}`, "invalid-shape", '"w"'],
];

it.each(broken)("%s is refused", async (_, header, code, ...names) => {
  await expectError(() => parse(header), { code, names });
});

it("bytes that are not UTF-8 are refused before anything else is said", async () => {
  for (const bytes of [
    [0xff],
    [0xc0, 0xaf],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xe2, 0x82],
  ]) {
    await expectError(() => parse(Uint8Array.of(0x7b, ...bytes)), { code: "invalid-utf8" });
  }
});

it("of several faults the first in the order of the rules is told", async () => {
  const twice = `${entry("d", "U8", [0], 0, 0)},${entry("d", "U8", [0], 0, 0)}`;
  const unknown = entry("u", "F99", [1], 7, 8);
  const shifted = entry("o", "U8", [1], 9, 8);
  const wrongShape = entry("s", "U8", [2 ** 53], 0, 1);
  const order: [string, ErrorCode][] = [
    [`{${wrongShape},${shifted},${unknown},${twice},}`, "invalid-header"],
    [`{${wrongShape},${shifted},${unknown},${twice}}`, "duplicate-name"],
    [`{${wrongShape},${shifted},${unknown}}`, "invalid-dtype"],
    [`{${wrongShape},${shifted}}`, "invalid-offsets"],
    [`{${wrongShape}}`, "invalid-shape"],
  ];
  for (const [header, code] of order) await expectError(() => parse(header), { code });
});

it("errors give the byte in the file, the name, and a line and no more", async () => {
  const error = await expectError(() =>
    parse(`{"${"n".repeat(300)}":{"dtype":${"[".repeat(1000)}`),
  );
  expect(error.details).toMatchObject({ offset: 321, name: "n".repeat(300) });
  expect(error.message).toContain("byte 321");
  expect(error.message.length).toBeLessThan(400);
});

it("errors between tensors blame none that is read already", async () => {
  const usual = entry("a", "U8", [1], 0, 1);
  for (const rest of ["x", ",x", `,${usual.replace('"dtype"', '"dtype" x')}`, "]"]) {
    const { details, message } = await expectError(
      () => parse(`{"__metadata__":{"k":"v"},${usual}${rest}}`),
      { code: "invalid-header" },
    );
    expect(details.offset).toBeGreaterThan(80);
    expect(details.name ?? "a").toBe("a");
    expect(message).not.toContain("__metadata__");
  }
});

it("errors of offsets tell what was expected and what is there", async () => {
  const first = entry("a", "U8", [2], 0, 2);
  const faults: [string, number, number][] = [
    [entry("b", "U8", [1], 3, 4), 2, 3],
    [entry("b", "U8", [1], 1, 2), 2, 1],
    [entry("b", "U8", [1], 2, 1), 2, 1],
    [entry("b", "I16", [3], 2, 3), 6, 1],
  ];
  for (const [second, expected, actual] of faults) {
    const { details } = await expectError(() => parse(`{${first},${second}}`), {
      code: "invalid-offsets",
    });
    expect(details).toMatchObject({ name: "b", expected, actual });
  }
});

describe("the length of a header", () => {
  const withLength = (length: bigint, ...rest: number[]) => {
    const file = new Uint8Array(8 + rest.length);
    new DataView(file.buffer).setBigUint64(0, length, true);
    file.set(rest, 8);
    return file;
  };

  it("is at most 100,000,000, or what maxHeaderLength says", async () => {
    await expectError(() => parseSafetensorsHeader(withLength(100_000_000n, 0x7b)), {
      code: "truncated",
      names: ["100000008", "\\b9\\b"],
    });
    await expectError(() => parseSafetensorsHeader(withLength(100_000_001n, 0x7b)), {
      code: "limit-exceeded",
      names: ["100000001", "maxHeaderLength"],
    });
    await expectError(
      () => parseSafetensorsHeader(withLength(100_000_001n, 0x7b), { maxHeaderLength: 1e9 }),
      { code: "truncated" },
    );
    await expectError(() => parseSafetensorsHeader(fileOf("{}  "), { maxHeaderLength: 3 }), {
      code: "limit-exceeded",
    });
    expect(parseSafetensorsHeader(fileOf("{}  "), { maxHeaderLength: 4 }).dataOffset).toBe(12);
  });

  it("is read in all of its 64 bits", async () => {
    for (const length of [2n ** 32n + 2n, 2n ** 63n, 2n ** 64n - 1n]) {
      const names = [`${length}`];
      await expectError(() => parseSafetensorsHeader(withLength(length, 0x7b, 0x7d)), {
        code: "limit-exceeded",
        names,
      });
      const options = { maxHeaderLength: Number.POSITIVE_INFINITY };
      await expectError(() => parseSafetensorsHeader(withLength(length, 0x7b, 0x7d), options), {
        code: "limit-exceeded",
        names,
      });
    }
  });

  it("may look like the start of another format", () => {
    for (const [magic, length] of [
      ["gzip", 0x8b1f],
      ["pickle", 0x580280],
      ["zip of a kind", 0x4b50],
    ] as const) {
      const file = fileOf(`{${" ".repeat(length - 2)}}`);
      expect(decodeSafetensors(file).tensors.size, magic).toBe(0);
    }
  });

  it("is not taken for one when the file is a gzip of today", async () => {
    const gzip = new Uint8Array(700_000);
    gzip.set([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    await expectError(() => decodeSafetensors(gzip), { code: "not-this-format", names: ["gzip"] });
    // The ninth byte could start a header, the eight before it are no length of one.
    const json = new TextEncoder().encode('{"seed":{"value":1}}');
    await expectError(() => decodeSafetensors(json), { code: "not-this-format", names: ["JSON"] });
  });

  it("needs 8 bytes", async () => {
    for (let size = 0; size < 8; size++) {
      await expectError(() => decodeSafetensors(new Uint8Array(size)), { code: "truncated" });
    }
  });
});

describe("encodeSafetensorsHeader", () => {
  it("gives back what parseSafetensorsHeader read, so that data can follow unread", async () => {
    const data = Uint8Array.from({ length: 25 }, (_, i) => i);
    const text = `{"__metadata__":{"a":"1"},${entry("y", "BOOL", [], 24, 25)},${entry("x", "F32", [2, 3], 0, 24)}}`;
    const file = fileOf(text, data);
    const { tensors, dataOffset } = parseSafetensorsHeader(file);
    const head = encodeSafetensorsHeader(tensors, { b: "é", a: "2" });
    const blob = new Blob([head, file.subarray(dataOffset)]);
    const again = decodeSafetensors(await blob.arrayBuffer());
    expect([...again.metadata]).toEqual([
      ["a", "2"],
      ["b", "é"],
    ]);
    expect([...again.tensors]).toEqual([...decodeSafetensors(file).tensors]);
  });

  it("aligns the data as asked", async () => {
    for (const dataAlignment of [1, 2, 8, 64, 4096, 2 ** 20]) {
      const head = encodeSafetensorsHeader([], [], { dataAlignment });
      expect(head.length % dataAlignment).toBe(0);
      expect(head.length - 10).toBeLessThan(dataAlignment);
      expect(parseSafetensorsHeader(head).dataOffset).toBe(head.length);
    }
    for (const dataAlignment of [0, -8, 3, 12, 2 ** 21, Number.NaN, 1.5]) {
      await expectError(() => encodeSafetensorsHeader([], [], { dataAlignment }), {
        code: "invalid-argument",
        names: ["dataAlignment"],
      });
    }
  });

  it("refuses what no file can say", async () => {
    const info = { dtype: "uint8", shape: [1], begin: 0, end: 1 } as const;
    await expectError(() => encodeSafetensorsHeader({ w: { ...info, end: 2 } }), {
      code: "invalid-offsets",
      names: ["w"],
    });
    await expectError(() => encodeSafetensorsHeader({ w: { ...info, begin: 1, end: 2 } }), {
      code: "invalid-offsets",
    });
    await expectError(() => encodeSafetensorsHeader({ w: { ...info, shape: [-1] } }), {
      code: "invalid-shape",
      names: ["w"],
    });
    await expectError(() => encodeSafetensorsHeader({ __metadata__: info }), {
      code: "invalid-name",
    });
    await expectError(
      () => encodeSafetensorsHeader({ w: { dtype: "complex128", shape: [1], begin: 0, end: 16 } }),
      { code: "unsupported", names: ["w", "complex128"] },
    );
    for (const dtype of ["F32", "constructor", "", 7, null]) {
      await expectError(() => encodeSafetensorsHeader({ w: { ...info, dtype: dtype as never } }), {
        code: "invalid-dtype",
        names: ['"w"'],
      });
    }
    await expectError(() => encodeSafetensorsHeader({ "\ud800": info }), { code: "invalid-name" });
  });
});
