import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { decodeNpy, encodeNpy, parseNpyHeader } from "../src/index.js";
import { npyFile } from "./npy-file.js";

const shape = "'fortran_order': False, 'shape': (2,)";
const dict = (descr: string) => `{'descr': ${descr}, ${shape}}`;
const dtypeOf = (descr: string) => parseNpyHeader(npyFile(dict(descr))).dtype;

describe("headers", () => {
  test("a header is read without its data", () => {
    const header = parseNpyHeader(
      npyFile("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"),
    );
    expect(header).toEqual({
      version: [1, 0],
      descr: "<f4",
      dtype: "float32",
      fortranOrder: true,
      shape: [2, 3],
      dataOffset: 68,
    });
  });

  test("of a struct the text of its fields is the descr", () => {
    const header = parseNpyHeader(npyFile(dict("[('a', '<f4'),  ('b', '|S2')]")));
    expect(header).toMatchObject({ dtype: "struct", descr: "[('a', '<f4'),  ('b', '|S2')]" });
  });

  test.each([
    ["'<f2'", "float16"],
    ["'>c16'", "complex128"],
    ["'|b1'", "bool"],
    ["'?'", "bool"],
    ["'f'", "float32"],
    ["'=u8'", "uint64"],
    ["'<f04'", "float32"],
    ["'int16'", "int16"],
    ["'bool'", "bool"],
    ["'bfloat16'", "bfloat16"],
    ["'U'", "string"],
    ["'|S7'", "bytes"],
    ["'V12'", "void"],
    ["'<M8[ns]'", "datetime64"],
    ["'m8'", "timedelta64"],
    ["'datetime64[25us]'", "datetime64"],
    ["'timedelta64[generic]'", "timedelta64"],
    ["[]", "struct"],
  ])("descr %s is %s", (descr, dtype) => {
    expect(dtypeOf(descr)).toBe(dtype);
  });

  test.each([
    ["'O'", "unsupported"],
    ["'|O8'", "unsupported"],
    ["'object'", "unsupported"],
    ["[('a', '<f4'), ('b', [('c', '|O')])]", "unsupported"],
    ["'<f16'", "unsupported"],
    ["'g'", "unsupported"],
    ["'<c32'", "unsupported"],
    ["'T'", "unsupported"],
    ["''", "invalid-dtype"],
    ["'<'", "invalid-dtype"],
    ["'b4'", "invalid-dtype"],
    ["'i0'", "invalid-dtype"],
    ["'<f8 '", "invalid-dtype"],
    ["'<float64'", "invalid-dtype"],
    ["'M8[x]'", "invalid-dtype"],
    ["'M8[2147483648s]'", "invalid-dtype"],
    ["'S2147483648'", "invalid-dtype"],
    ["'U536870912'", "invalid-dtype"],
    [`'S${"9".repeat(400)}'`, "invalid-dtype"],
    ["'constructor'", "invalid-dtype"],
    ["'S-1'", "invalid-dtype"],
    ["('<f4', (2,))", "invalid-header"],
    ["None", "invalid-header"],
    ["{'a': 1}", "invalid-header"],
    ["[1]", "invalid-header"],
    ["[('a',)]", "invalid-header"],
    ["[('a', '<f4', (2,), 1)]", "invalid-header"],
    ["[(1, '<f4')]", "invalid-header"],
    ["[(('t', 'a', 'b'), '<f4')]", "invalid-header"],
    ["[((1, 'a'), '<f4')]", "invalid-header"],
    ["[(('t', 1), '<f4')]", "invalid-header"],
    ["[(['t', 'a'], '<f4')]", "invalid-header"],
    ["[('a', ('<f4',))]", "invalid-header"],
    ["[('a', '<f4', (-1,))]", "invalid-shape"],
    ["[('a', '<f4', True)]", "invalid-shape"],
    ["[('a', '<f4', (1073741824,))]", "invalid-dtype"],
    ["[('a', '<f4', (9007199254740991, 3))]", "invalid-shape"],
    ["[('a', '<f4'), ('a', '<i4')]", "duplicate-name"],
    ["[(('a', 'b'), '<f4'), ('a', '<i4')]", "duplicate-name"],
  ] as const)("descr %s: %s", async (descr, code) => {
    await expectError(() => dtypeOf(descr), { code });
  });

  test.each([
    ["[]", "invalid-header"],
    ["{}", "invalid-header"],
    ["{'descr': '<f4', 'fortran_order': False}", "invalid-header"],
    [`{'descr': '<f4', ${shape}, 'x': 1}`, "invalid-header"],
    ["{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "invalid-header"],
    ["{'descr': '<f4', 'fortran_order': False, 'shape': [2]}", "invalid-shape"],
    ["{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}", "invalid-header"],
    ["{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "invalid-shape"],
    ["{'descr': '<f4', 'fortran_order': False, 'shape': (9007199254740992,)}", "invalid-shape"],
    ["{'descr': '<f4', 'fortran_order': False, 'shape': (9007199254740991,)}", "invalid-shape"],
    [
      "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}",
      "invalid-shape",
    ],
    [`{'descr': '<f4', 'fortran_order': False, 'shape': (${"1,".repeat(65)})}`, "invalid-shape"],
  ])("%s: %s", async (text, code) => {
    await expectError(() => parseNpyHeader(npyFile(text)), { code });
  });

  test.each([
    [1, 1],
    [2, 9],
    [0, 0],
    [4, 0],
  ])("version %i.%i is not known", async (major, minor) => {
    const file = npyFile(dict("'<f4'"));
    file[6] = major;
    file[7] = minor;
    await expectError(() => parseNpyHeader(file), {
      code: "unsupported-version",
      names: [`${major}.${minor}`],
    });
  });

  test("zero elements of a shape that counts are fine", () => {
    const text = "{'descr': '<f8', 'fortran_order': False, 'shape': (9007199254740991, 0, 9)}";
    expect(decodeNpy(npyFile(text))).toEqual({
      dtype: "float64",
      shape: [9007199254740991, 0, 9],
      data: new Float64Array(),
    });
  });

  test("version 3.0 is UTF-8, the others are Latin-1", async () => {
    const text = "{'descr': [('é', '<f4')], 'fortran_order': False, 'shape': ()}";
    for (const version of [1, 2, 3] as const) {
      const array = decodeNpy(npyFile(text, { version, data: 4 }));
      expect(array).toMatchObject({ fields: [{ name: "é" }] });
    }
    const latin1 = npyFile(text, { version: 2 });
    latin1[6] = 3;
    await expectError(() => parseNpyHeader(latin1), { code: "invalid-utf8" });
  });

  test("Python 2's long integers are read in 1.0 and 2.0 only", async () => {
    const text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}";
    expect(parseNpyHeader(npyFile(text, { version: 2 })).shape).toEqual([3]);
    await expectError(() => parseNpyHeader(npyFile(text, { version: 3 })), {
      code: "invalid-header",
    });
  });

  test("the limit on the header's length counts characters", async () => {
    const text = `{'descr': [('${"値".repeat(100)}', '<f4')], ${shape}}`;
    const file = npyFile(text, { version: 3 });
    const maxHeaderLength = text.length;
    expect(parseNpyHeader(file, { maxHeaderLength }).dtype).toBe("struct");
    await expectError(() => parseNpyHeader(file, { maxHeaderLength: maxHeaderLength - 1 }), {
      code: "limit-exceeded",
      names: ["maxHeaderLength"],
    });
    await expectError(() => parseNpyHeader(file, { maxHeaderLength: Number.NaN }), {
      code: "limit-exceeded",
    });
  });

  test("each cut of a file is told from other formats", async () => {
    const file = encodeNpy({ dtype: "int8", shape: [3], data: Int8Array.of(1, 2, 3) });
    for (let length = 0; length < file.length; length++) {
      const error = await expectError(() => decodeNpy(file.subarray(0, length)), {
        code: "truncated",
      });
      expect(error.message).toMatch(new RegExp(`\\b${length >= 128 ? length - 128 : length}\\b`));
    }
  });

  test.each([
    ["PK\x03\x04", "zip"],
    ["\x1f\x8b\x08", "gzip"],
    ["<!DOCTYPE html><html>", "HTML"],
    ["\xef\xbb\xbf<html>", "HTML"],
    ['{"error": "Not Found"}', "JSON"],
    ["[1, 2]", "JSON"],
    ["version https://git-lfs.github.com/spec/v1\n", "git lfs pull"],
    ["\x89HDF\r\n\x1a\n", "HDF5"],
    ["GGUF\x03", "GGUF"],
    ["\x80\x04\x95", "pickle"],
    ["\x08\0\0\0\0\0\0\0{}", "safetensors"],
    ["something else", "npy"],
  ])("%j is not .npy but %s", async (text, name) => {
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    await expectError(() => parseNpyHeader(bytes), { code: "not-this-format", names: [name] });
  });

  test("what is not bytes is refused", async () => {
    // @ts-expect-error a string is no bytes
    await expectError(() => parseNpyHeader("x"), { code: "invalid-argument" });
  });
});
