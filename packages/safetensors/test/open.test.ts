import { type Progress, type Tensor, tensor } from "@tensorjar/core";
import { describe, expect, it } from "vitest";
import {
  bytesOf,
  collect,
  concat,
  expectError,
  recordingSource,
  sameBytes,
} from "../../../tooling/testing.js";
import {
  decodeSafetensors,
  encodeSafetensors,
  openSafetensors,
  sliceByteRanges,
  updateSafetensorsMetadata,
} from "../src/index.js";
import { fileOf, MemorySink } from "./files.js";

const numbers = (length: number, first = 0) => Float32Array.from({ length }, (_, i) => first + i);
const small = new Map<string, Tensor>([
  ["a", tensor(numbers(4))],
  ["b", tensor(numbers(6, 100), [2, 3])],
  ["c", tensor(Uint8Array.of(1, 2, 3))],
  ["empty", tensor(new Uint8Array(0), [0, 4])],
  ["scalar", tensor(5n, [], "int64")],
]);
const metadata = { format: "pt", tied: "b" };
const file = encodeSafetensors(small, { metadata });

describe("an open file", () => {
  it("says what is in it without reading more", async () => {
    const source = recordingSource(file);
    const open = await openSafetensors(source);
    expect(open.format).toBe("safetensors");
    expect(open.names).toEqual(["scalar", "a", "b", "c", "empty"]);
    expect([...open.metadata]).toEqual(Object.entries(metadata));
    expect([...open.tensors.keys()]).toEqual(open.names);
    expect(await open.info("b")).toEqual({ dtype: "float32", shape: [2, 3], byteLength: 24 });
    expect(open.footprint()).toBe(8 + 16 + 24 + 3);
    expect(open.footprint(["b", "c", "b"])).toBe(27);
    expect(() => open.footprint(["x"])).toThrow(/no tensor "x"/);
    expect(source.reads).toEqual([[0, file.length]]);
    await open.close();
    expect(source.closed).toBe(1);
  });

  it("gives each tensor with one read, in memory of its own", async () => {
    const source = recordingSource(file);
    const open = await openSafetensors(source);
    const { dataOffset } = headerOf();
    const b = await open.get("b");
    expect(b).toEqual(small.get("b"));
    expect(source.reads.slice(1)).toEqual([[dataOffset + 24, 24]]);
    b.data.fill(0 as never);
    expect(await open.get("b")).toEqual(small.get("b"));
    expect(b.data.buffer.byteLength).toBe(24);
    expect(await open.get("empty")).toEqual(small.get("empty"));
    expect(source.reads.length).toBe(3);
  });

  it("does not change with what is done to the shapes it gave", async () => {
    const open = await openSafetensors(file);
    const given = [await open.get("b"), await open.info("b"), (await open.getAll()).get("b")];
    for (const { shape } of given.map(Object)) shape.push(2);
    expect(await open.get("b")).toEqual(small.get("b"));
  });

  it("gives owned tensors from bytes as well", async () => {
    const copy = file.slice();
    const open = await openSafetensors(copy);
    const all = await open.getAll();
    copy.fill(255);
    expect(all).toEqual(decodeSafetensors(file).tensors);
  });

  it("reads small neighbours together, and leaves out what is not asked for", async () => {
    const source = recordingSource(file);
    const open = await openSafetensors(source);
    const { dataOffset } = headerOf();
    expect(new Map(await collect(open.entries()))).toEqual(decodeSafetensors(file).tensors);
    expect(source.reads.splice(0)).toEqual([
      [0, file.length],
      [dataOffset, 51],
    ]);
    const some = await open.getAll(["c", "scalar", "a"]);
    expect([...some.keys()]).toEqual(["scalar", "a", "c"]);
    expect(source.reads).toEqual([
      [dataOffset, 24],
      [dataOffset + 48, 3],
    ]);
  });

  it("reads large tensors alone, and never more than 4 MiB together", async () => {
    const entries: [string, Tensor][] = Array.from({ length: 40 }, (_, i) => [
      `s${String(i).padStart(2, "0")}`,
      tensor(new Uint8Array(200 << 10).fill(i)),
    ]);
    entries.push(["sx", tensor(new Uint8Array(256 << 10))], ["sy", tensor(Uint8Array.of(1))]);
    const source = recordingSource(encodeSafetensors(entries));
    const open = await openSafetensors(source);
    const all = await open.getAll();
    expect([...all.keys()]).toEqual(entries.map(([name]) => name));
    expect(
      [...all.values()].every((one, i) => sameBytes(one.data, entries[i]?.[1].data ?? one.data)),
    ).toBe(true);
    expect(source.reads.slice(1).map(([, length]) => length)).toEqual([
      20 * (200 << 10),
      20 * (200 << 10),
      256 << 10,
      1,
    ]);
  });

  it("names what is not there, before it reads", async () => {
    const source = recordingSource(file);
    const open = await openSafetensors(source);
    const absent = { code: "not-found", names: ["model\\.b", '"b"'] };
    await expectError(() => open.get("model.b"), absent);
    await expectError(() => open.info("model.b"), absent);
    await expectError(() => open.slice("model.b", []), absent);
    await expectError(() => open.getAll(["a", "model.b"]), absent);
    await expectError(() => collect(open.entries(["model.b"])), absent);
    await expectError(() => collect(open.chunks("model.b")), absent);
    await expectError(() => open.get("__proto__"), { code: "not-found" });
    expect(source.reads.length).toBe(1);
  });

  it("answers to the names that its metadata records as aliases", async () => {
    const open = await openSafetensors(file);
    expect(await open.get("tied")).toEqual(small.get("b"));
    expect(await open.info("tied")).toEqual(await open.info("b"));
    expect([...(await open.getAll(["tied", "a", "b"])).keys()]).toEqual(["a", "tied", "b"]);
    expect(open.names).not.toContain("tied");
    await expectError(() => open.get("format"), { code: "not-found" });
  });

  it("gives one tensor in chunks", async () => {
    const large = tensor(new Uint8Array((8 << 20) + 5).fill(9));
    const open = await openSafetensors(
      encodeSafetensors({ large, none: tensor(new Uint8Array(0)) }),
    );
    const chunks = await collect(open.chunks("large"));
    expect(chunks.map(({ length }) => length)).toEqual([8 << 20, 5]);
    expect(sameBytes(concat(...chunks), large.data)).toBe(true);
    expect(await collect(open.chunks("none"))).toEqual([]);
  });

  it("tells how far it is", async () => {
    const open = await openSafetensors(file);
    const progress: Progress[] = [];
    await open.getAll(undefined, { onProgress: (at) => progress.push(at) });
    expect(progress.map(({ loaded, name }) => [name, loaded])).toEqual([
      ["scalar", 8],
      ["a", 24],
      ["b", 48],
      ["c", 51],
      ["empty", 51],
    ]);
    expect(progress.every(({ total }) => total === 51)).toBe(true);
  });

  it("stops at a signal with its reason, also when the source takes no notice", async () => {
    const source = recordingSource(file);
    const open = await openSafetensors(source);
    const aborted = AbortSignal.abort("enough");
    for (const read of [
      () => open.get("a", { signal: aborted }),
      () => open.getAll(undefined, { signal: aborted }),
      () => open.getAll([], { signal: aborted }),
      () => collect(open.entries([], { signal: aborted })),
      () => open.slice("b", [0], { signal: aborted }),
      () => open.slice("b", [{ stop: 0 }], { signal: aborted }),
      () => collect(open.chunks("a", { signal: aborted })),
      () => collect(open.chunks("empty", { signal: aborted })),
    ]) {
      await expect(read()).rejects.toBe("enough");
    }
    expect(source.reads.length).toBe(1);
    const controller = new AbortController();
    source.read = () => new Promise(() => {});
    const waiting = open.get("a", { signal: controller.signal });
    controller.abort("later");
    await expect(waiting).rejects.toBe("later");
  });

  it("gives nothing after a signal, also of what was read together", async () => {
    const open = await openSafetensors(file);
    for (const by of ["consumer", "progress"]) {
      const controller = new AbortController();
      const { signal } = controller;
      const stop = (who: string) => by === who && controller.abort("enough");
      const given: string[] = [];
      const reading = async () => {
        for await (const [name] of open.entries(undefined, {
          signal,
          onProgress: () => stop("progress"),
        })) {
          given.push(name);
          stop("consumer");
        }
      };
      await expect(reading()).rejects.toBe("enough");
      expect(given).toEqual(["scalar"]);
    }
  });

  it("runs no more reads at once than it is told", async () => {
    const entries = Array.from({ length: 8 }, (_, i): [string, Tensor] => [
      `t${i}`,
      tensor(new Uint8Array(300 << 10)),
    ]);
    for (const concurrency of [1, 3]) {
      const source = recordingSource(encodeSafetensors(entries));
      const open = await openSafetensors(source);
      let running = 0;
      let most = 0;
      const read = source.read.bind(source);
      source.read = async (...args) => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        const bytes = await read(...args);
        running--;
        return bytes;
      };
      await open.getAll(undefined, { concurrency });
      expect(most).toBe(concurrency);
    }
  });

  it("fails with what the source says, and refuses what is short", async () => {
    const source = recordingSource(file);
    const open = await openSafetensors(source);
    const fault = new Error("gone");
    source.read = () => Promise.reject(fault);
    await expect(open.getAll()).rejects.toBe(fault);
    source.read = async (_, length) => new Uint8Array(length - 1);
    await expectError(() => open.get("a"), { code: "truncated", names: ["15", "\\b16\\b"] });
    source.read = async (offset, length) => file.slice(offset, offset + length);
    expect(await open.get("a")).toEqual(small.get("a"));
  });
});

describe("opening", () => {
  it("takes a second read for the rest of a long header, and no more", async () => {
    const long = encodeSafetensors(
      { a: tensor(numbers(4)) },
      { metadata: { text: "x".repeat(100_000) } },
    );
    const source = recordingSource(concat(long.subarray(0, -16), new Uint8Array(16)));
    const open = await openSafetensors(source);
    const { dataOffset } = headerOf(long);
    expect(source.reads).toEqual([
      [0, 65536],
      [65536, dataOffset - 65536],
    ]);
    expect((await open.get("a")).shape).toEqual([4]);
  });

  it("closes a source that came as a promise when it fails, and no other", async () => {
    const source = recordingSource(fileOf("[]"));
    await expectError(() => openSafetensors(source), { code: "invalid-header" });
    expect(source.closed).toBe(0);
    await expectError(() => openSafetensors(Promise.resolve(source)), { code: "invalid-header" });
    expect(source.closed).toBe(1);
    source.close = () => Promise.reject(new Error("cannot close"));
    await expectError(() => openSafetensors(Promise.resolve(source)), { code: "invalid-header" });
  });

  it("compares the header with the size before it reads more", async () => {
    const source = recordingSource(fileOf(" ".repeat(70_000)).subarray(0, 66_000));
    await expectError(() => openSafetensors(source), {
      code: "truncated",
      names: ["70008", "66000"],
    });
    expect(source.reads).toEqual([[0, 65536]]);
  });

  it("takes bytes after the data only when told", async () => {
    const longer = concat(file, Uint8Array.of(1, 2));
    await expectError(() => openSafetensors(longer), {
      code: "trailing-bytes",
      names: ["\\b2 bytes"],
    });
    expect((await openSafetensors(longer, { trailing: "ignore" })).names.length).toBe(5);
    expect(decodeSafetensors(longer, { trailing: "ignore" }).tensors.size).toBe(5);
  });

  it("refuses what is no source", async () => {
    await expectError(() => openSafetensors("model.safetensors" as never), {
      code: "invalid-argument",
    });
  });
});

describe("decoding", () => {
  it("gives views where memory is aligned, and copies where it is not or when asked", () => {
    const odd = new Uint8Array(file.length + 1);
    odd.set(file, 1);
    for (const [bytes, shared] of [
      [file, true],
      [odd.subarray(1), false],
    ] as const) {
      const { tensors } = decodeSafetensors(bytes);
      expect(tensors).toEqual(decodeSafetensors(file).tensors);
      expect(tensors.get("b")?.data.buffer === bytes.buffer).toBe(shared);
      expect(tensors.get("c")?.data.buffer === bytes.buffer).toBe(true);
      const copied = decodeSafetensors(bytes, { copy: true }).tensors;
      expect(
        [...copied.values()].every(({ data }) => (data.buffer as unknown) !== bytes.buffer),
      ).toBe(true);
    }
  });

  it("takes the names it is given, in the order of the data", async () => {
    expect([...decodeSafetensors(file, { names: ["c", "a"] }).tensors.keys()]).toEqual(["a", "c"]);
    const starts = (name: string) => name.startsWith("s");
    expect([...decodeSafetensors(file, { names: starts }).tensors.keys()]).toEqual(["scalar"]);
    await expectError(() => decodeSafetensors(file, { names: ["a", "nowhere"] }), {
      code: "not-found",
      names: ["nowhere"],
    });
  });
});

describe("a slice", () => {
  const cube = tensor(
    Int32Array.from({ length: 24 }, (_, i) => i),
    [2, 3, 4],
  );
  const source = recordingSource(encodeSafetensors({ cube }));
  const cases: [Parameters<typeof sliceByteRanges>[2], number[], number[], number][] = [
    [[], [2, 3, 4], cubeIndices(() => true), 1],
    [[1], [3, 4], cubeIndices((i) => i === 1), 1],
    [[-1, 0], [4], [12, 13, 14, 15], 1],
    [[0, 1, 2], [], [6], 1],
    [[-0, { start: -0, stop: 1 }, -0], [1], [0], 1],
    [[null, 1], [2, 4], cubeIndices((_, j) => j === 1), 2],
    [[null, { start: 1 }], [2, 2, 4], cubeIndices((_, j) => j >= 1), 2],
    [[{ start: 1 }, { stop: 2 }], [1, 2, 4], cubeIndices((i, j) => i === 1 && j < 2), 1],
    [
      [null, null, { start: 1, stop: 3 }],
      [2, 3, 2],
      cubeIndices((_, __, k) => k === 1 || k === 2),
      6,
    ],
    [[null, null, -1], [2, 3], cubeIndices((_, __, k) => k === 3), 6],
    [[null, null, { step: 2 }], [2, 3, 2], cubeIndices((_, __, k) => k % 2 === 0), 12],
    [[null, { step: 2 }], [2, 2, 4], cubeIndices((_, j) => j !== 1), 3],
    [[{ step: 2, start: 1 }, { step: 2 }], [1, 2, 4], [12, 13, 14, 15, 20, 21, 22, 23], 2],
    [[null, null, { step: 3 }], [2, 3, 2], [0, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23], 7],
    [[{ step: 5 }], [1, 3, 4], cubeIndices((i) => i === 0), 1],
    [[{ start: -1 }], [1, 3, 4], cubeIndices((i) => i === 1), 1],
    [[{ start: 5 }], [0, 3, 4], [], 0],
    [[{ start: 1, stop: -9 }], [0, 3, 4], [], 0],
    [[{ start: -9, stop: 99 }], [2, 3, 4], cubeIndices(() => true), 1],
  ];

  function cubeIndices(keep: (i: number, j: number, k: number) => boolean): number[] {
    const kept: number[] = [];
    for (let n = 0; n < 24; n++)
      if (keep(Math.floor(n / 12), Math.floor(n / 4) % 3, n % 4)) kept.push(n);
    return kept;
  }

  it.each(cases)("%j reads its own bytes only", async (selection, shape, values, reads) => {
    const open = await openSafetensors(source);
    source.reads.length = 0;
    const part = await open.slice("cube", selection);
    expect(part).toEqual({ dtype: "int32", shape, data: Int32Array.from(values) });
    expect(source.reads.length).toBe(reads);
    expect(source.reads.reduce((sum, [, length]) => sum + length, 0)).toBe(4 * values.length);
    const { ranges } = sliceByteRanges("int32", [2, 3, 4], selection);
    expect(
      ranges.flatMap(([begin, end]) => cubeIndices(() => true).slice(begin / 4, end / 4)),
    ).toEqual(values);
  });

  it("has no range that starts at minus zero", () => {
    for (const first of [-0, { start: -0 }, { start: -2 }])
      expect(sliceByteRanges("int8", [2, 3], [first]).ranges[0]?.[0]).toBe(0);
  });

  it("of an array without elements has no ranges, however large the other axes", () => {
    const expected = { ranges: [], shape: [2 ** 50, 0] };
    expect(sliceByteRanges("int8", [2 ** 52, 0], [{ step: 4 }])).toEqual(expected);
  });

  it("of packed elements starts and ends at whole bytes", () => {
    const expected = { ranges: [[2, 4]], shape: [4] };
    expect(sliceByteRanges("float4_e2m1fn", [3, 4], [1])).toEqual(expected);
  });

  it("refuses what the array does not have", async () => {
    const refused: [unknown, ...string[]][] = [
      [[2], "axis 0 of 2", "^2 "],
      [[-3], "axis 0", "-3"],
      [[0.5], "0.5"],
      [[null, null, null, null], "4 axes", "3 axes"],
      [[{ step: 0 }], "by 0"],
      [[{ step: -1 }], "by -1"],
      [[{ step: 1.5 }], "by 1.5"],
      [[{ start: 0.5 }], "0.5 to"],
      [[{ stop: Number.NaN }], "to NaN"],
      [["x"], '"x"'],
      [[[0, 1]], "Array"],
      [[[]], "Array"],
      [[{ begin: 0, end: 1 }], '"begin"'],
      [[{ start: 0, end: 1 }], '"end"'],
      ["x", '"x"'],
      [undefined, "undefined"],
    ];
    for (const [selection, ...names] of refused) {
      await expectError(() => sliceByteRanges("int8", [2, 3, 4], selection as never), {
        code: "invalid-argument",
        names,
      });
    }
    await expectError(() => sliceByteRanges("float4_e2m1fn", [3, 4], [null, 1]), {
      code: "unsupported",
      names: ["float4"],
    });
    await expectError(() => sliceByteRanges("int8", [10_000_001, 2], [null, 0]), {
      code: "limit-exceeded",
    });
    await expectError(() => sliceByteRanges("int8", [-1], []), { code: "invalid-shape" });
    await expectError(() => sliceByteRanges("int7" as never, [1], []), { code: "invalid-dtype" });
  });
});

describe("updateSafetensorsMetadata", () => {
  it("replaces the metadata and copies the data", async () => {
    const sink = new MemorySink();
    await updateSafetensorsMetadata(file, sink, { b: "2", a: "1" });
    expect(sink.bytes).toEqual(encodeSafetensors(small, { metadata: { a: "1", b: "2" } }));
  });

  it("hands the old metadata to a function", async () => {
    const sink = new MemorySink();
    await updateSafetensorsMetadata(new Blob([file]), sink, (old) => old.set("step", "3"));
    expect([...decodeSafetensors(sink.bytes ?? new Uint8Array()).metadata]).toEqual(
      [...Object.entries(metadata), ["step", "3"]].sort(),
    );
  });

  it("waits for a function that answers later, and refuses one that gives nothing", async () => {
    const sink = new MemorySink();
    const later = async (old: Map<string, string>) => old.set("step", "3");
    await updateSafetensorsMetadata(file, sink, later as never);
    expect([...decodeSafetensors(sink.bytes ?? new Uint8Array()).metadata]).toEqual(
      [...Object.entries(metadata), ["step", "3"]].sort(),
    );
    const nothing = (old: Map<string, string>) => void old.set("step", "3");
    await expectError(() => updateSafetensorsMetadata(file, new MemorySink(), nothing as never), {
      code: "invalid-argument",
      names: ["metadata"],
    });
  });

  it("writes nothing when the metadata or the file is bad", async () => {
    const sink = new MemorySink();
    await expectError(() => updateSafetensorsMetadata(file, sink, { a: 1 as never }), {
      code: "invalid-argument",
      names: ["a"],
    });
    await expectError(() => updateSafetensorsMetadata(file.subarray(1), sink, {}));
    await expectError(() => updateSafetensorsMetadata(file.subarray(0, -1), sink, {}), {
      code: "truncated",
    });
    expect(sink.chunks).toEqual([]);
    const source = recordingSource(file);
    const fault = new Error("gone");
    const read = source.read.bind(source);
    source.read = (offset, ...rest) => (offset > 0 ? Promise.reject(fault) : read(offset, ...rest));
    await expect(updateSafetensorsMetadata(Promise.resolve(source), sink, {})).rejects.toBe(fault);
    expect([sink.bytes, sink.aborted, source.closed]).toEqual([undefined, fault, 1]);
  });
});

function headerOf(bytes: Uint8Array = file): { dataOffset: number } {
  return {
    dataOffset: 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true)),
  };
}

it("compares data by bytes in these tests", () => {
  expect(sameBytes(numbers(2), bytesOf(numbers(2)))).toBe(true);
  expect(sameBytes(numbers(2), numbers(2, 1))).toBe(false);
});
