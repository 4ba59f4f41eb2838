import { describe, expect, test } from "vitest";
import { collect, expectError, recordingSource } from "../../../tooling/testing.js";
import {
  type ByteSource,
  decodeNpy,
  encodeNpy,
  type NpyArray,
  openNpy,
  tensor,
} from "../src/index.js";
import { npyFile } from "./npy-file.js";

const matrix = tensor(
  Float32Array.from({ length: 40 }, (_, at) => at),
  [10, 4],
);
const file = encodeNpy(matrix);
const fortran = (shape: readonly number[], itemSize: number, data: Uint8Array) =>
  npyFile(`{'descr': '>u${itemSize}', 'fortran_order': True, 'shape': (${shape.join(", ")}), }`, {
    data,
  });

describe("opening", () => {
  test("reads the header only, in two reads, and the array in one", async () => {
    const source = recordingSource(file);
    const npy = await openNpy(source);
    expect(source.reads).toEqual([
      [0, 12],
      [12, 116],
    ]);
    expect(npy).toMatchObject({ format: "npy", names: [""], metadata: new Map() });
    expect(npy.header).toMatchObject({ descr: "<f4", shape: [10, 4], dataOffset: 128 });
    expect(await npy.info("")).toEqual({ dtype: "float32", shape: [10, 4], byteLength: 160 });
    expect(source.reads).toHaveLength(2);
    expect(await npy.read()).toEqual(matrix);
    expect(source.reads.slice(2)).toEqual([[128, 160]]);
    await npy.close();
    expect(source.closed).toBe(1);
  });

  test("takes bytes and blobs, and gives memory of its own", async () => {
    const bytes = file.slice();
    const npy = await openNpy(bytes);
    const array = await npy.get("");
    bytes.fill(0, 128);
    expect(array).toEqual(matrix);
    expect(await (await openNpy(new Blob([file]))).read()).toEqual(matrix);
  });

  test("keeps its shape, whatever callers do to those that it gave", async () => {
    for (const [bytes, options] of [
      [file, {}],
      [fortran([2, 3], 1, new Uint8Array(6)), { fortranOrder: "reverse-shape" }],
    ] as const) {
      const npy = await openNpy(bytes, options);
      const before = await npy.read();
      const shape = [...before.shape];
      const given = [npy.header, await npy.info(""), await npy.read(), await npy.rows(0, 1)];
      for (const { shape } of given) (shape as number[]).length = 0;
      expect(await npy.info("")).toMatchObject({ shape });
      expect(await npy.read()).toEqual(before);
      expect((await npy.rows(0, 2)).shape).toEqual([2, ...shape.slice(1)]);
    }
  });

  test("with a dtype narrows the type, or refuses the file", async () => {
    const npy = await openNpy(file, { dtype: "float32" });
    const { data } = await npy.rows(0, 1);
    expect(data).toEqual(Float32Array.of(0, 1, 2, 3));
    await expectError(() => openNpy(file, { dtype: "float64" }), {
      code: "invalid-dtype",
      names: ["float32", "float64"],
    });
  });

  test("takes void for a dtype", async () => {
    const bits = tensor(Uint16Array.of(1, 2), [2], "bfloat16");
    const source = encodeNpy(bits, { asVoid: true });
    const npy = await openNpy(source, { voidAs: "bfloat16", dtype: "bfloat16" });
    expect(await npy.info("")).toMatchObject({ dtype: "bfloat16" });
    expect(await npy.read()).toEqual(bits);
  });

  test.each([
    ["empty", new Uint8Array(), "truncated"],
    ["gzip", Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "not-this-format"],
    ["HTML", new TextEncoder().encode("<!DOCTYPE html><html></html>"), "not-this-format"],
    ["half a header", file.subarray(0, 60), "truncated"],
    ["a byte short", file.subarray(0, -1), "truncated"],
    ["a byte long", new Uint8Array([...file, 0]), "trailing-bytes"],
  ] as const)("a file that is %s fails before any data is read", async (_, bytes, code) => {
    const source = recordingSource(bytes);
    await expectError(() => openNpy(source), { code });
    expect(source.reads.length).toBeLessThanOrEqual(2);
    expect(source.closed).toBe(0);
    await expectError(() => openNpy(Promise.resolve(source)), { code });
    expect(source.closed).toBe(1);
  });

  test("refuses Fortran order where it is not wanted", async () => {
    const source = fortran([2, 2], 1, Uint8Array.of(1, 2, 3, 4));
    await expectError(() => openNpy(source, { fortranOrder: "reject" }), { code: "unsupported" });
  });

  test("a header over the limit is refused before it is read", async () => {
    const head = npyFile("", { version: 2 });
    new DataView(head.buffer).setUint32(8, 0x7fffffff, true);
    const source = recordingSource(head);
    await expectError(() => openNpy({ ...source, size: 2 ** 40 }), {
      code: "limit-exceeded",
      names: ["2147483647", "maxHeaderLength"],
    });
    expect(source.reads).toEqual([[0, 12]]);
  });

  test("a huge declared array is refused by the size of the file", async () => {
    const text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }";
    await expectError(() => openNpy(npyFile(text, { data: 16 })), { code: "truncated" });
  });
});

describe("rows", () => {
  test("are one read of just their bytes", async () => {
    const source = recordingSource(file);
    const npy = await openNpy(source);
    expect(await npy.rows(3, 5)).toEqual(tensor(matrix.data.slice(12, 20), [2, 4]));
    expect(source.reads.slice(2)).toEqual([[128 + 48, 32]]);
    expect(await npy.rows(10, 10)).toEqual(tensor(new Float32Array(), [0, 4]));
  });

  test("of big-endian data are swapped", async () => {
    const text = "{'descr': '>u2', 'fortran_order': False, 'shape': (3,), }";
    const npy = await openNpy(npyFile(text, { data: Uint8Array.of(0, 1, 0, 2, 0, 3) }));
    expect(await npy.rows(1, 3)).toEqual(tensor(Uint16Array.of(2, 3)));
    expect(await collect(npy.chunks(""))).toEqual([Uint8Array.of(1, 0, 2, 0, 3, 0)]);
  });

  test("come in batches, the last of what is left", async () => {
    const npy = await openNpy(file);
    const batches = await collect(npy.rowBatches(4));
    expect(batches.map(({ shape }) => shape)).toEqual([
      [4, 4],
      [4, 4],
      [2, 4],
    ]);
    expect(batches[2]).toEqual(await npy.rows(8, 10));
  });

  test.each([
    [-1, 2],
    [0, 11],
    [3, 2],
    [0.5, 2],
    [0, Number.NaN],
  ])("%d to %d are not there", async (start, stop) => {
    const npy = await openNpy(file);
    await expectError(() => npy.rows(start, stop), { code: "invalid-argument" });
  });

  test("of scalars, strings and Fortran order are refused with the way out", async () => {
    const scalar = await openNpy(encodeNpy(tensor(3, [])));
    await expectError(() => scalar.rows(0, 1), { code: "invalid-argument", names: ["whole"] });
    const strings = await openNpy(
      encodeNpy({ dtype: "string", shape: [1], data: ["a"], itemLength: 1 }),
    );
    await expectError(() => strings.rows(0, 1), { code: "unsupported", names: ["whole"] });
    const bytes = fortran([2, 3], 1, Uint8Array.of(0, 3, 1, 4, 2, 5));
    const columns = await openNpy(bytes);
    await expectError(() => columns.rows(0, 1), { code: "unsupported", names: ["reverse-shape"] });
    await expectError(() => collect(columns.rowBatches(1)), { code: "unsupported" });
    const reversed = await openNpy(bytes, { fortranOrder: "reverse-shape" });
    expect(await reversed.rows(1, 2)).toEqual(tensor(Uint8Array.of(1, 4), [1, 2]));
  });

  test("batches of no rows are refused at once", async () => {
    const npy = await openNpy(file);
    await expectError(() => npy.rowBatches(0), { code: "invalid-argument" });
  });
});

describe("chunks", () => {
  test("are the data in C order, little-endian", async () => {
    const data = Uint8Array.of(0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6);
    const npy = await openNpy(fortran([2, 3], 2, data));
    expect(await collect(npy.chunks(""))).toEqual([
      Uint8Array.of(1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0),
    ]);
    const reversed = await openNpy(fortran([2, 3], 2, data), { fortranOrder: "reverse-shape" });
    expect(await collect(reversed.chunks(""))).toEqual([
      Uint8Array.of(1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0),
    ]);
  });

  test("of a large array are bounded", async () => {
    const data = new Uint8Array((8 << 20) + 3).fill(7);
    const source = recordingSource(encodeNpy(tensor(data)));
    const sizes = (await collect((await openNpy(source)).chunks(""))).map(({ length }) => length);
    expect(sizes).toEqual([8 << 20, 3]);
  });

  test("of nothing are none", async () => {
    const npy = await openNpy(encodeNpy(tensor(new Float32Array(), [0, 3])));
    expect(await collect(npy.chunks(""))).toEqual([]);
    const empty = await openNpy(fortran([2, 0], 1, new Uint8Array()));
    expect(await collect(empty.chunks(""))).toEqual([]);
  });
});

describe("as a file of tensors", () => {
  test("there is one, without a name", async () => {
    const npy = await openNpy(file);
    const seen: unknown[] = [];
    const entries = await collect(npy.entries(undefined, { onProgress: (p) => seen.push(p) }));
    expect(entries).toEqual([["", matrix]]);
    expect(seen).toEqual([{ loaded: 160, total: 160, name: "" }]);
    for (const use of [
      () => npy.info("a"),
      () => npy.get("a"),
      () => collect(npy.chunks("a")),
      () => collect(npy.entries(["a"])),
    ]) {
      await expectError(use, { code: "not-found", names: ['"a"'] });
    }
  });

  test("cancelling rejects with the reason at once", async () => {
    const source = recordingSource(file);
    const npy = await openNpy({
      size: source.size,
      read: (offset, length) =>
        offset < 128 ? source.read(offset, length) : new Promise<never>(() => {}),
    });
    const reason = new Error("stop");
    const uses: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => npy.get("", { signal }),
      (signal) => npy.read({ signal }),
      (signal) => npy.rows(0, 1, { signal }),
      (signal) => collect(npy.rowBatches(1, { signal })),
      (signal) => collect(npy.chunks("", { signal })),
      (signal) => collect(npy.entries(undefined, { signal })),
    ];
    for (const use of uses) {
      const controller = new AbortController();
      const pending = use(controller.signal);
      controller.abort(reason);
      await expect(pending).rejects.toBe(reason);
      await expect(use(AbortSignal.abort(reason))).rejects.toBe(reason);
    }
  });
});

test("a source that does not mind `into` keeps its own bytes", async () => {
  const text = "{'descr': '>u2', 'fortran_order': False, 'shape': (1,), }";
  const bytes = npyFile(text, { data: Uint8Array.of(1, 2) });
  const source: ByteSource = {
    size: bytes.length,
    read: async (offset, length) => bytes.subarray(offset, offset + length),
  };
  const before = bytes.slice();
  expect(await (await openNpy(source)).read()).toEqual(tensor(Uint16Array.of(0x0102)));
  expect(bytes).toEqual(before);
});

test("every kind of array is opened as it is decoded", async () => {
  const arrays: NpyArray[] = [
    { dtype: "string", shape: [2], data: ["a", "😀"], itemLength: 2 },
    { dtype: "bytes", shape: [2], data: Uint8Array.of(1, 2, 3, 0), itemSize: 2 },
    { dtype: "datetime64", shape: [1], data: BigInt64Array.of(5n), unit: "ns" },
    tensor(Float64Array.of(1, 2), [1], "complex128"),
  ];
  for (const array of arrays) {
    const bytes = encodeNpy(array);
    expect(await (await openNpy(bytes)).read()).toEqual(decodeNpy(bytes));
  }
});
