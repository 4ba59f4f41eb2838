import { crc32 } from "@tensorjar/core/codec";
import { deflateSync } from "fflate";
import { describe, expect, test } from "vitest";
import { type ExpectedError, loadCases } from "../../../tooling/cases.js";
import { concat, expectError } from "../../../tooling/testing.js";
import { type ByteSource, decodeNpz, encodeNpz, openNpz } from "../src/index.js";
import {
  fields,
  float32,
  latin,
  type MadeEnd,
  type MadeMember,
  makeZip,
  npyBytes,
  npyMember,
} from "./zip-maker.js";

const x = npyMember("x.npy", [1, 2, 3]);
const y = npyMember("y.npy", [4, 5]);

/** Expects every way of reading everything to fail with the same error. */
async function expectRefused(bytes: Uint8Array<ArrayBuffer>, error: ExpectedError): Promise<void> {
  await expectError(() => decodeNpz(bytes), error);
  await expectError(async () => (await openNpz(bytes)).getAll(), error);
  await expectError(async () => (await openNpz(new Blob([bytes]))).getAll(), error);
}

async function expectRead(bytes: Uint8Array<ArrayBuffer>, names: readonly string[]): Promise<void> {
  expect([...decodeNpz(bytes).keys()]).toEqual(names);
  expect([...(await (await openNpz(bytes)).getAll()).keys()]).toEqual(names);
}

const invalid = (name?: string): ExpectedError => ({
  code: "invalid-archive",
  ...(name && { names: [name] }),
});

describe("the end of an archive", () => {
  const refused: Record<string, [readonly MadeMember[], MadeEnd, string?]> = {
    "bytes before, with true offsets": [
      [x],
      { before: latin("#!/bin/sh\n") },
      "10 bytes stand before",
    ],
    "bytes before, with offsets from the archive's start": [
      [x],
      { before: latin("#!/bin/sh\n"), shift: -10 },
      "ends 10 bytes before",
    ],
    "bytes after": [[x, y], { after: latin("more") }, "4 bytes stand after"],
    "more bytes after than a comment can have": [[x], { after: new Uint8Array(70_000) }],
    "a comment that is cut off": [[x], { comment: latin("hello"), after: new Uint8Array(0) }],
    "a second disk": [[x], { disk: 1 }, "disk"],
    "entries on another disk": [[x, y], { countHere: 1 }, "counts 1 of 2 entries.*disks"],
    "one entry too few counted": [[x, y], { count: 1 }, "holds 2 entries.*counts 1"],
    "one entry too many counted": [[x, y], { count: 3 }, "holds 2 entries.*counts 3"],
    "a directory said to be shorter": [[x, y], { directorySize: 20 }],
    "a directory said to be longer": [[x, y], { directorySize: 4000 }],
    "a directory said to lie elsewhere": [[x, y], { directoryOffset: 0 }],
    "an empty archive with bytes before": [[], { before: latin("zip") }],
    "another archive in the comment": [[x], { comment: makeZip([y]) }, "another archive"],
    "another archive in the comment, with offsets into this file": [
      [x],
      { comment: makeZip([y], { shift: makeZip([x]).length }) },
    ],
    "an empty archive in the comment": [[x], { comment: makeZip([]) }, "another archive"],
    "a zip64 archive in the comment": [
      [x],
      { comment: makeZip([y], { zip64: {}, directorySize: 0xffffffff }) },
    ],
    "a zip64 count that disagrees": [[x], { zip64: { count: 2 }, count: 1 }, "disagree"],
    "a zip64 count that is wrong": [[x], { zip64: { count: 2 }, count: 0xffff }, "counts 2"],
    "a zip64 size that disagrees": [[x], { zip64: { directorySize: 1 } }, "disagree"],
    "a zip64 offset that disagrees": [[x], { zip64: { directoryOffset: 1n } }, "disagree"],
    "a zip64 offset of 2^60": [
      [x],
      { zip64: { directoryOffset: 1n << 60n }, directoryOffset: 0xffffffff },
    ],
    "a zip64 offset past 2^64 in sum": [
      [x],
      { zip64: { directoryOffset: (1n << 64n) - 1n }, directoryOffset: 0xffffffff },
    ],
    "a zip64 record elsewhere": [[x], { zip64: { recordOffset: 0 } }, "locator"],
    "a zip64 locator that counts disks": [[x], { zip64: { disks: 2 } }, "disks"],
  };
  test.each(Object.entries(refused))("%s is refused", async (what, [members, end, message]) => {
    const bytes = makeZip(members, end);
    await expectRefused(what.includes("cut off") ? bytes.slice(0, -1) : bytes, invalid(message));
  });

  test("a second directory at the end of the longest comment is refused", async () => {
    const plain = makeZip([x]);
    const directory = new DataView(plain.buffer).getUint32(plain.length - 6, true);
    const second = plain.slice(directory); // also of the member at 0
    const comment = new Uint8Array(65_535);
    comment.set(second, comment.length - second.length);
    const bytes = makeZip([x], { comment });
    new DataView(bytes.buffer).setUint32(bytes.length - 6, bytes.length - second.length, true);
    await expectRefused(bytes, invalid("another archive"));
  });

  const read: Record<string, [readonly MadeMember[], MadeEnd]> = {
    "a comment": [[x, y], { comment: latin("hello") }],
    "a comment of 65,535 bytes": [[x, y], { comment: new Uint8Array(65_535).fill(0x50) }],
    "a signature in the comment": [
      [x, y],
      { comment: latin("see PK\x05\x06 for more, it is no end record") },
    ],
    "zip64 records without need": [[x, y], { zip64: {} }],
    "zip64 records with room for extensions": [[x, y], { zip64: { extended: 30 } }],
    "zip64 records for everything": [
      [x, y],
      {
        zip64: {},
        disk: 0xffff,
        countHere: 0xffff,
        count: 0xffff,
        directorySize: 0xffffffff,
        directoryOffset: 0xffffffff,
      },
    ],
    "a gap between members": [[{ ...x, after: latin("a gap of any kind") }, y], {}],
    "a gap before the directory": [[x, { ...y, after: latin("a gap of any kind") }], {}],
  };
  test.each(Object.entries(read))("%s is read", async (_, [members, end]) => {
    await expectRead(makeZip(members, end), ["x", "y"]);
  });

  test("an archive cut anywhere is truncated, or no archive when nothing of it is left", async () => {
    const bytes = makeZip([x, y]);
    for (let length = 0; length < bytes.length; length++) {
      const hasEnd = length > bytes.length - 22 + 3;
      const code = hasEnd
        ? "invalid-archive"
        : length >= 4 || length === 0
          ? "truncated"
          : "not-this-format";
      await expectError(() => decodeNpz(bytes.subarray(0, length)), { code });
      await expectError(() => openNpz(bytes.subarray(0, length)), { code });
    }
  });
});

describe("the directory", () => {
  const compressed = deflateSync(x.raw);
  const zip64 = (...values: number[]) =>
    fields([2, 1], [2, 8 * values.length], ...values.map((value): [number, number] => [8, value]));
  const refused: Record<string, [readonly MadeMember[], string | ExpectedError]> = {
    "a member inside another": [
      [{ ...x, size: x.raw.length + 40, compressedSize: x.raw.length + 40 }, y],
      "overlap",
    ],
    "two entries for one local header": [[x, { ...y, offset: 0 }], invalid()],
    "a member that runs past the directory": [
      [x, { ...y, size: 9999, compressedSize: 9999 }],
      "runs past the directory",
    ],
    "an offset past the directory": [[x, { ...y, offset: 0xfffffff0 }], "runs past the directory"],
    "a stored member with two sizes": [[{ ...x, size: x.raw.length - 1 }], "two sizes"],
    "a member on another disk": [[x, { ...y, disk: 1 }], "disk 1"],
    "a local header somewhere else": [
      [x, { ...y, offset: x.raw.length + 34 }, { ...x, name: "z.npy" }],
      invalid(),
    ],
    "another method in the local header": [[{ ...x, localMethod: 8 }], "method"],
    "another name in the local header": [[{ ...x, localName: "z.npy" }], "another name"],
    "a longer name in the local header": [[{ ...x, localName: "xx.npy" }], "another name"],
    "a local name that goes on after the other": [[{ ...x, localName: "x.npyx" }], "another name"],
    "another size in the local header": [[{ ...x, localSize: 1 }], "1 bytes"],
    "another compressed size in the local header": [[{ ...x, localCompressedSize: 1 }], "1 bytes"],
    "a zip64 size past 2^53": [
      [{ ...x, size: 0xffffffff, extra: fields([2, 1], [2, 8], [8, 1n << 60n]) }],
      invalid(),
    ],
    "a zip64 offset outside of the file": [
      [x, { ...y, offset: 0xffffffff, extra: zip64(1e15) }],
      "runs past",
    ],
    "a zip64 placeholder without its value": [
      [{ ...x, size: 0xffffffff, compressedSize: 0xffffffff }],
      invalid(),
    ],
    "a name twice": [[x, npyMember("x.npy")], { code: "duplicate-name", names: ["x\\.npy"] }],
    "a name with and without .npy": [
      [npyMember("x"), x],
      { code: "duplicate-name", names: ["\\bx\\b"] },
    ],
    "a NUL in a name": [[npyMember("x\0.npy")], { code: "invalid-name", names: ["NUL"] }],
    "a NUL in a name of code page 437": [
      [npyMember(latin("\xff\0.npy"))],
      { code: "invalid-name", names: ["NUL"] },
    ],
    "a name that is flagged UTF-8 and is none": [
      [npyMember(latin("\xff.npy"), [1], { flags: 0x800 })],
      { code: "invalid-utf8" },
    ],
    "an encrypted member": [[x, { ...y, flags: 1 }], { code: "encrypted", names: ["\\by\\b"] }],
    "an encrypted stored member, which is longer by its header": [
      [x, { ...y, flags: 1, size: y.raw.length - 12 }],
      { code: "encrypted", names: ["\\by\\b"] },
    ],
    "strong encryption": [[x, { ...y, flags: 0x41 }], { code: "encrypted" }],
    "encryption that only the local header tells": [
      [x, { ...y, localFlags: 1 }],
      { code: "encrypted" },
    ],
    "AES encryption": [[x, { ...y, method: 99 }], { code: "encrypted" }],
    Zstandard: [
      [x, { ...y, method: 93 }],
      { code: "unsupported", names: ["\\by\\b", "93 \\(Zstandard\\)"] },
    ],
    "an unknown method": [[x, { ...y, method: 4711 }], { code: "unsupported", names: ["4711"] }],
    "an unreadable member that may be an array": [
      [x, { ...y, name: "y", method: 12 }],
      { code: "unsupported" },
    ],
    "a wrong CRC-32": [
      [x, { ...y, crc: 1 }],
      { code: "checksum-mismatch", names: ["\\by\\b", "00000001"] },
    ],
    "a deflated member declared longer": [
      [{ ...x, raw: compressed, method: 8, size: x.raw.length + 1, crc: crc32(x.raw) }],
      { code: "checksum-mismatch", names: ["\\bx\\b"] },
    ],
    "a deflated member declared shorter": [
      [{ ...x, raw: compressed, method: 8, size: x.raw.length - 1, crc: crc32(x.raw) }],
      { code: "checksum-mismatch", names: ["\\bx\\b"] },
    ],
    "a deflate stream that is cut": [
      [{ ...x, raw: compressed.subarray(0, -3), method: 8, size: x.raw.length }],
      { code: "checksum-mismatch", names: ["\\bx\\b"] },
    ],
    "a deflate stream that is none": [
      [{ ...x, raw: new Uint8Array(60).fill(0xff), method: 8, size: 128 }],
      { code: "checksum-mismatch", names: ["\\bx\\b"] },
    ],
    "an empty deflate stream": [
      [{ ...x, raw: new Uint8Array(0), method: 8, size: 0 }],
      { code: ["checksum-mismatch", "truncated"], names: ["\\bx\\b"] },
    ],
    "a .npy member without the magic": [
      [x, { ...y, raw: latin("hello") }],
      { code: ["not-this-format", "truncated"], names: ["\\by\\b"] },
    ],
  };
  test.each(Object.entries(refused))("%s is refused", async (_, [members, error]) => {
    await expectRefused(makeZip(members), typeof error === "string" ? invalid(error) : error);
  });

  const read: Record<string, [readonly MadeMember[], readonly string[]]> = {
    "sizes that follow the data": [
      [
        {
          ...x,
          flags: 8,
          localSize: 0,
          localCompressedSize: 0,
          after: fields([4, 0x08074b50], [4, 0], [4, 0], [4, 0]),
        },
        y,
      ],
      ["x", "y"],
    ],
    "zip64 placeholders in the local header": [
      [
        {
          ...x,
          localSize: 0xffffffff,
          localCompressedSize: 0xffffffff,
          localExtra: zip64(x.raw.length, x.raw.length),
        },
        y,
      ],
      ["x", "y"],
    ],
    "a zip64 field for values that fit": [
      [{ ...x, extra: zip64(7, 7, 7) }, y],
      ["x", "y"],
    ],
    "zip64 sizes and offsets in the directory": [
      [
        x,
        {
          ...y,
          size: 0xffffffff,
          compressedSize: 0xffffffff,
          offset: 0xffffffff,
          disk: 0xffff,
          localSize: y.raw.length,
          localCompressedSize: y.raw.length,
          extra: concat(
            fields([2, 1], [2, 28]),
            fields([8, y.raw.length], [8, y.raw.length], [8, x.raw.length + 35], [4, 0]),
          ),
        },
      ],
      ["x", "y"],
    ],
    "extra fields that do not parse": [
      [{ ...x, extra: latin("\x01\x00\xff\xffbad"), localExtra: latin("?") }, y],
      ["x", "y"],
    ],
    "a name in code page 437": [[npyMember(latin("\x80\x81\xe1.npy"))], ["Çüß"]],
    "a UTF-8 name with a byte order mark": [
      [npyMember("\ufeffx.npy", [1], { flags: 0x800 })],
      ["\ufeffx"],
    ],
    "names that differ in .npy.npy": [
      [npyMember("x.npy.npy"), x],
      ["x.npy", "x"],
    ],
    "an array without .npy": [
      [npyMember("x", [1]), y],
      ["x", "y"],
    ],
    "members that are no arrays": [
      [
        { name: "README", raw: latin("hello, world") },
        { name: "empty", raw: new Uint8Array(0) },
        { name: "dir/", raw: new Uint8Array(0) },
        { name: "notes.txt", raw: deflateSync(latin("deflated words")), method: 8, size: 14 },
        x,
      ],
      ["x"],
    ],
    "AppleDouble companions": [
      [x, { name: "__MACOSX/._x.npy", raw: latin("\0\x05\x16\x07\0\x02") }],
      ["x"],
    ],
    "a tiny encrypted file that is no array": [
      [x, { name: "k", raw: latin("k"), flags: 1 }],
      ["x"],
    ],
  };
  test.each(Object.entries(read))("%s is read", async (_, [members, names]) => {
    await expectRead(makeZip(members), names);
  });

  test("a local header whose extra fields push its data into the next member is refused", async () => {
    const bytes = makeZip([x, y]);
    bytes[28] = 1; // the length of x's local extra fields: its data would start one byte later
    await expectRefused(bytes, invalid("overlaps"));
  });

  test("a size that the compressed bytes cannot inflate to is refused before it is allocated", async () => {
    const raw = new Uint8Array(10_000);
    const size = 10 * 2 ** 30;
    const member = { name: "bomb.npy", raw, method: 8, size: 0xffffffff, localSize: 0xffffffff };
    const bytes = makeZip([{ ...member, extra: fields([2, 1], [2, 8], [8, size]) }, x]);
    await expectRefused(bytes, { code: "limit-exceeded", names: ["bomb", String(size)] });
    const file = await openNpz(bytes);
    await expectError(() => file.bytes("bomb.npy"), { code: "limit-exceeded" });
    await expectError(() => file.header("bomb"), { code: "limit-exceeded" });
    expect((await file.get("x")).shape).toEqual([3]);
  });
});

describe("one bad member", () => {
  const header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n";
  const objects = concat(
    latin("\x93NUMPY\x01\x00"),
    fields([2, header.length]),
    latin(header),
    latin("\x80\x04N."),
  );

  test("fails alone, unless everything is read", async () => {
    const bad: readonly MadeMember[] = [
      { ...x, name: "crc.npy", crc: 1 },
      { ...x, name: "locked.npy", flags: 1 },
      { ...x, name: "bzip2.npy", method: 12 },
      { ...x, name: "local.npy", localMethod: 8 },
      { ...x, name: "inflate.npy", method: 8 },
      { name: "text.npy", raw: latin("this is no array") },
      { name: "object.npy", raw: objects },
      { name: "cut.npy", raw: npyBytes([1, 2, 3]).subarray(0, 130) },
      { name: "long.npy", raw: concat(npyBytes([1]), latin("more")) },
    ];
    const codes = [
      "checksum-mismatch",
      "encrypted",
      "unsupported",
      "invalid-archive",
      "checksum-mismatch",
      "not-this-format",
      "unsupported",
      "truncated",
      "trailing-bytes",
    ];
    const bytes = makeZip([x, ...bad, y]);
    const file = await openNpz(bytes);
    expect([...decodeNpz(bytes, { names: ["y", "x"] }).keys()]).toEqual(["x", "y"]);
    expect((await file.get("y")).data).toEqual(Float32Array.of(4, 5));
    for (const [i, code] of codes.entries()) {
      const name = file.names[i + 1] ?? "";
      await expectError(() => decodeNpz(bytes, { names: ["x", name] }), { code, names: [name] });
      const { details } = await expectError(() => file.get(name), { code, names: [name] });
      const { name: member, offset } = file.members[i + 1] ?? {};
      expect(details).toMatchObject({ name: member, offset }); // in the archive, whatever is wrong
      await expectError(
        async () => {
          for await (const _ of file.chunks(name));
        },
        { names: [name] }, // damage may show in the header first
      );
    }
    const before: string[] = [];
    await expectError(
      async () => {
        for await (const [name] of file.entries()) before.push(name);
      },
      { code: "checksum-mismatch", names: ["crc"] },
    );
    expect(before).toEqual(["x"]);
  });

  test("that is large and damaged anywhere is a checksum mismatch", async () => {
    const bytes = encodeNpz({ big: float32(new Array<number>(40_000).fill(1)) });
    for (const at of [70, 90, 150, 100_000]) {
      const damaged = bytes.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 4;
      await expectRefused(damaged, { code: "checksum-mismatch", names: ["big"] });
    }
  });
});

async function readThrough(pieces: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of pieces);
}

test("a large member that does not inflate is a checksum mismatch", async () => {
  const raw = new Uint8Array(300_000).fill(0xff);
  const file = await openNpz(makeZip([{ name: "x.npy", raw, method: 8, size: 400_000 }]));
  for (const read of [() => file.bytes("x.npy"), () => readThrough(file.chunks("x"))]) {
    await expectError(read, { code: "checksum-mismatch", names: ["x\\.npy"] });
  }
});

test("what a source fails with in the middle of a member is told as it is", async () => {
  const content = npyBytes(Array.from({ length: 1 << 20 }, (_, i) => i));
  const raw = deflateSync(content, { level: 0 });
  const bytes = makeZip([
    { name: "stored.npy", raw: content },
    { name: "deflated.npy", raw, method: 8, size: content.length, crc: crc32(content) },
  ]);
  const failure = new Error("the cable is out");
  let broken = false;
  const file = await openNpz({
    size: bytes.length,
    async read(offset, length) {
      if (broken && offset % content.length > 3_000_000) throw failure;
      return bytes.subarray(offset, offset + length);
    },
  });
  broken = true;
  for (const name of ["stored", "deflated"]) {
    await expect(readThrough(file.chunks(name)), name).rejects.toBe(failure);
  }
});

test("a large member that inflates to something else than it declares is a checksum mismatch", async () => {
  const content = npyBytes(Array.from({ length: 100_000 }, (_, i) => Math.sqrt(i)));
  const x = { name: "x.npy", raw: deflateSync(content), method: 8 };
  const size = content.length;
  const crc = crc32(content);
  for (const lie of [
    { size, crc: 1 },
    { size: size + 1, crc },
    { size: size - 1, crc },
  ]) {
    const bytes = makeZip([{ ...x, ...lie }]);
    const file = await openNpz(bytes);
    for (const read of [
      () => file.get("x"),
      () => file.bytes("x.npy"),
      () => file.getAll(),
      () => decodeNpz(bytes),
    ])
      await expectError(read, { code: "checksum-mismatch", names: ["x\\.npy"] });
  }
});

describe("limits", () => {
  const deflated = encodeNpz(
    { a: float32(new Array<number>(1000).fill(0)), b: float32(new Array<number>(1000).fill(0)) },
    { compression: "deflate" },
  );

  test("maxInflatedBytes is a total of one call", async () => {
    await expectError(() => decodeNpz(deflated, { maxInflatedBytes: 8000 }), {
      code: "limit-exceeded",
      names: ['"b.npy"', "8000"],
    });
    expect(decodeNpz(deflated, { maxInflatedBytes: 8256 }).size).toBe(2);
    const file = await openNpz(deflated, { maxInflatedBytes: 8000 });
    expect((await file.get("a")).shape).toEqual([1000]);
    expect((await file.get("b")).shape).toEqual([1000]);
    await expectError(() => file.getAll(), { code: "limit-exceeded", names: ['"b.npy"', "8000"] });
    const small = await openNpz(deflated, { maxInflatedBytes: 4000 });
    await expectError(() => small.bytes("a"), { code: "limit-exceeded" });
    await expectError(
      async () => {
        for await (const _ of small.chunks("a"));
      },
      { code: "limit-exceeded" },
    );
    expect((await small.header("a")).shape).toEqual([1000]);
  });

  test("maxInflatedBytes names the member that passes it, also where a later one is read ahead", async () => {
    const numbers = (count: number) => float32(new Array<number>(count).fill(1));
    const sizes = { small: 100, large: 100_000, larger: 120_000 };
    for (const compression of ["stored", "deflate"] as const) {
      const arrays = Object.entries(sizes).map(([name, count]) => [name, numbers(count)] as const);
      const bytes = encodeNpz(arrays, { compression });
      for (const [maxInflatedBytes, culprit, before] of [
        [500, "small", []],
        [400_600, "large", ["small"]],
        [880_000, "larger", ["small", "large"]],
      ] as const) {
        const wanted = {
          code: "limit-exceeded",
          names: [`"${culprit}.npy"`, `${maxInflatedBytes}`],
        };
        await expectError(() => decodeNpz(bytes, { maxInflatedBytes }), wanted);
        const file = await openNpz(bytes, { maxInflatedBytes });
        const read: string[] = [];
        await expectError(async () => {
          for await (const [name] of file.entries()) read.push(name);
        }, wanted);
        expect(read).toEqual(before);
        await expectError(() => file.getAll(Object.keys(sizes), { concurrency: 1 }), wanted);
      }
    }
  });

  test("a member over maxInflatedBytes is refused for that, whatever else is wrong with it", async () => {
    for (const count of [100, 100_000]) {
      const bytes = encodeNpz({ a: float32(new Array<number>(count).fill(1)) });
      for (const damaged of [0, 26, bytes.length - 200]) {
        const changed = bytes.slice();
        changed[damaged] = 77;
        const wanted = { code: "limit-exceeded", names: ['"a.npy"', "maxInflatedBytes"] } as const;
        await expectError(() => decodeNpz(changed, { maxInflatedBytes: 10 }), wanted);
        const file = await openNpz(changed, { maxInflatedBytes: 10 });
        for (const read of [() => file.getAll(), () => file.get("a"), () => file.bytes("a")])
          await expectError(read, wanted);
      }
    }
  });

  test("values that no option has are refused", async () => {
    for (const maxInflatedBytes of [-1, Number.NaN]) {
      await expectError(() => decodeNpz(deflated, { maxInflatedBytes }), {
        code: "invalid-argument",
      });
      await expectError(() => openNpz(deflated, { maxInflatedBytes }), {
        code: "invalid-argument",
      });
    }
  });

  test("a header longer than maxHeaderLength is refused, and read where it is raised", async () => {
    const fieldsText = Array.from({ length: 800 }, (_, i) => `('field${i}', '<f4')`).join(", ");
    const text = `{'descr': [${fieldsText}], 'fortran_order': False, 'shape': (0,), }\n`;
    const bytes = makeZip([
      {
        name: "s.npy",
        raw: concat(latin("\x93NUMPY\x01\x00"), fields([2, text.length]), latin(text)),
      },
    ]);
    await expectRefused(bytes, { code: "limit-exceeded", names: ["maxHeaderLength"] });
    expect(decodeNpz(bytes, { maxHeaderLength: 20_000 }).get("s")?.dtype).toBe("struct");
    const file = await openNpz(bytes, { maxHeaderLength: 20_000 });
    expect((await file.get("s")).dtype).toBe("struct");
    expect((await file.header("s")).shape).toEqual([0]);
  });
});

describe("files of another format", () => {
  const others: Record<string, [Uint8Array<ArrayBuffer>, string, string]> = {
    "nothing at all": [new Uint8Array(0), "truncated", "empty"],
    "an .npy file": [npyBytes([1]), "not-this-format", "npy"],
    "an HTML page": [
      concat(latin("<!DOCTYPE html><title>Sign in</title>")),
      "not-this-format",
      "HTML",
    ],
    "a Git LFS pointer": [
      concat(latin("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")),
      "not-this-format",
      "git lfs pull",
    ],
    "a gzip file": [concat(latin("\x1f\x8b\x08\0\0\0\0\0\0\x03")), "not-this-format", "gzip"],
    "a PyTorch checkpoint": [
      makeZip([
        { name: "archive/data.pkl", raw: latin("pickle") },
        { name: "archive/data/0", raw: latin("0000") },
      ]),
      "not-this-format",
      "PyTorch",
    ],
    "a TorchScript module, whose pickle comes after its tensors": [
      makeZip([
        { name: "model/data/0", raw: new Uint8Array(5000) },
        { name: "model/data.pkl", raw: latin("pickle") },
        { name: "model/constants.pkl", raw: latin("pickle") },
        { name: "model/version", raw: latin("3") },
      ]),
      "not-this-format",
      "PyTorch",
    ],
    "a PyTorch checkpoint that was packed again": [
      makeZip([
        { name: "archive/", raw: latin("") },
        { name: "archive/version", raw: latin("3") },
        { name: "archive/data.pkl", raw: latin("pickle") },
      ]),
      "not-this-format",
      "PyTorch",
    ],
    "a PyTorch checkpoint that is cut": [
      makeZip([{ name: "archive/data.pkl", raw: latin("pickle") }]).slice(0, 60),
      "not-this-format",
      "PyTorch",
    ],
    "no format at all": [new Uint8Array(5000).fill(7), "not-this-format", "npz"],
  };
  test.each(Object.entries(others))("%s is named", async (_, [bytes, code, name]) => {
    await expectRefused(bytes, { code, names: [name] });
  });

  test("a zip archive without arrays is empty, not refused", async () => {
    const file = await openNpz(makeZip([{ name: "[Content_Types].xml", raw: latin("<Types/>") }]));
    expect(file.names).toEqual([]);
    expect(file.members.map(({ name }) => name)).toEqual(["[Content_Types].xml"]);
    expect((await file.getAll()).size).toBe(0);
  });

  test("a pickle beside arrays, or deep in folders, makes no PyTorch checkpoint", async () => {
    const pickle = { name: "archive/data.pkl", raw: latin("pickle") };
    await expectRead(makeZip([pickle, npyMember("x.npy")]), ["x"]);
    await expectRead(makeZip([{ ...pickle, name: "a/b/data.pkl" }]), []);
  });

  test("an array called version is an array", async () => {
    await expectRead(makeZip([npyMember("version.npy"), npyMember("byteorder.npy")]), [
      "version",
      "byteorder",
    ]);
  });
});

test("a large archive is recognised without its head", async () => {
  const { read } = await loadCases("npz");
  const bytes = await read("npz-16-mib-of-zeros.npz");
  const offsets: number[] = [];
  const source: ByteSource = {
    size: bytes.length,
    async read(offset, length) {
      offsets.push(offset);
      return bytes.subarray(offset, offset + length);
    },
  };
  await openNpz(source);
  expect(offsets).toEqual([0]);
});
