import { type DType, type Tensor, tensor, zeros } from "@tensorjar/core";
import { writeChunks } from "@tensorjar/core/codec";
import { describe, expect, it } from "vitest";
import {
  bytesOf,
  collect,
  concat,
  expectError,
  isUsual,
  sameBytes,
  unusualBuffers,
} from "../../../tooling/testing.js";
import {
  decodeSafetensors,
  encodeSafetensors,
  parseSafetensorsHeader,
  safetensorsChunks,
  type TensorProducer,
  writeSafetensors,
} from "../src/index.js";
import { MemorySink } from "./files.js";

const one = tensor(Float32Array.of(1, 2, 3));
const headerText = (file: Uint8Array) =>
  new TextDecoder().decode(file.subarray(8, parseSafetensorsHeader(file).dataOffset)).trimEnd();

describe("what is written", () => {
  it("is sorted by dtype, then by the UTF-8 bytes of names", () => {
    const shapes: [string, DType][] = [
      ["b", "uint8"],
      ["a", "uint8"],
      ["😀", "float32"],
      ["～", "float32"],
      ["é", "float32"],
      ["z", "float32"],
      ["Z", "float32"],
      ["zz", "float32"],
      ["", "float32"],
      ["u", "uint64"],
      ["p", "bool"],
      ["q", "float4_e2m1fn"],
    ];
    const file = encodeSafetensors(
      shapes.map(([name, dtype]): [string, Tensor] => [name, zeros([2], dtype) as Tensor]),
    );
    const names = ["u", "", "Z", "z", "zz", "é", "～", "😀", "a", "b", "q", "p"];
    expect([...decodeSafetensors(file).tensors.keys()]).toEqual(names);
    expect([...headerText(file).matchAll(/"([^"]*)":\{"dtype/g)].map(([, name]) => name)).toEqual(
      names,
    );
  });

  it("has metadata first, with sorted keys, and none when there is none", () => {
    const metadata = new Map([
      ["😀", "1"],
      ["～", "2"],
      ["a", 'q"\\\u0001\n\u2028/'],
    ]);
    expect(headerText(encodeSafetensors({ w: one }, { metadata }))).toBe(
      '{"__metadata__":{"a":"q\\"\\\\\\u0001\\n\u2028/","～":"2","😀":"1"},"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}',
    );
    expect(headerText(encodeSafetensors({}, { metadata: {} }))).toBe("{}");
  });

  it("is the same whatever holds the tensors, and in whatever order", () => {
    const tensors: [string, Tensor][] = [
      ["1", one],
      ["0", tensor(3, [], "int64")],
      ["__proto__", tensor([true, false])],
    ];
    const file = encodeSafetensors(tensors);
    expect(encodeSafetensors(new Map([...tensors].reverse()))).toEqual(file);
    expect(encodeSafetensors(Object.fromEntries(tensors))).toEqual(file);
    expect(encodeSafetensors(tensors.values())).toEqual(file);
  });

  it("holds the bytes of a part of a buffer, and no others", () => {
    const buffer = Float32Array.from({ length: 100 }, (_, i) => i);
    const { tensors } = decodeSafetensors(
      encodeSafetensors({ w: tensor(buffer.subarray(10, 12)) }),
    );
    expect(tensors.get("w")?.data).toEqual(Float32Array.of(10, 11));
  });

  it("may come from memory that is shared or can change its size, and is given copied", async () => {
    for (const buffer of unusualBuffers(4 << 20)) {
      const chunks = await collect(
        safetensorsChunks({ w: tensor(new Uint8Array(buffer).fill(7)) }).chunks,
      );
      expect(chunks.every(isUsual)).toBe(true);
      const { tensors } = decodeSafetensors(concat(...chunks));
      expect(tensors.get("w")?.data.every((value) => value === 7)).toBe(true);
    }
  });
});

describe("refused before a byte is written:", () => {
  const refused: [string, () => unknown, string, ...string[]][] = [
    [
      "the name __metadata__",
      () => encodeSafetensors({ __metadata__: one }),
      "invalid-name",
      "__metadata__",
    ],
    [
      "a lone surrogate in a name",
      () => encodeSafetensors({ "a\ud800": one }),
      "invalid-name",
      "surrogate",
    ],
    [
      "a name that is no string",
      () => encodeSafetensors(new Map([[1 as never, one]])),
      "invalid-name",
    ],
    [
      "a name twice",
      () =>
        encodeSafetensors([
          ["w", one],
          ["w", zeros([1], "float32")],
        ]),
      "duplicate-name",
      "w",
    ],
    [
      "complex128",
      () => encodeSafetensors({ w: zeros([1], "complex128") }),
      "unsupported",
      "w",
      "complex128",
    ],
    [
      "an unknown dtype",
      () => encodeSafetensors({ w: { ...one, dtype: "f4" as never } }),
      "invalid-dtype",
      "w",
    ],
    [
      "data of another size",
      () => encodeSafetensors({ w: { ...one, shape: [4] } }),
      "invalid-shape",
      "w",
      "16",
      "12",
    ],
    [
      "data of another class",
      () => encodeSafetensors({ w: { ...one, data: new Float64Array(3) as never } }),
      "invalid-argument",
      "w",
    ],
    ["no tensor", () => encodeSafetensors({ w: [1, 2] as never }), "invalid-argument", "w"],
    ["null", () => encodeSafetensors({ w: null as never }), "invalid-argument", "w"],
    ["no map", () => encodeSafetensors("x" as never), "invalid-argument"],
    ["null in place of tensors", () => encodeSafetensors(null as never), "invalid-argument"],
    [
      "a list of neither pairs nor producers",
      () => encodeSafetensors([5] as never),
      "invalid-argument",
    ],
    ["a single tensor", () => encodeSafetensors(one as never), "invalid-argument"],
    [
      "metadata that is a number",
      () => encodeSafetensors({}, { metadata: { step: 1 as never } }),
      "invalid-argument",
      "step",
    ],
    [
      "a lone surrogate in metadata",
      () => encodeSafetensors({}, { metadata: { k: "\udc00" } }),
      "invalid-argument",
      "k",
      "surrogate",
    ],
    [
      "a metadata key twice",
      () =>
        encodeSafetensors(
          {},
          {
            metadata: [
              ["k", "1"],
              ["k", "2"],
            ],
          },
        ),
      "duplicate-name",
      "k",
    ],
    [
      "an unknown way with aliases",
      () => encodeSafetensors({}, { aliases: "drop" as never }),
      "invalid-argument",
      "aliases",
    ],
    [
      "a producer where data must be at hand",
      () => encodeSafetensors([{ ...one, name: "w", data: () => one }] as never),
      "invalid-argument",
      "w",
      "writeSafetensors",
    ],
    [
      "a producer without a shape",
      () => safetensorsChunks([{ name: "w", dtype: "uint8", shape: 3 as never, data: () => one }]),
      "invalid-shape",
      "w",
    ],
    [
      "a producer with a negative dimension",
      () => safetensorsChunks([{ name: "w", dtype: "uint8", shape: [-1], data: () => one }]),
      "invalid-shape",
      "w",
    ],
    [
      "a producer of an unknown dtype",
      () => safetensorsChunks([{ name: "w", dtype: "f4" as never, shape: [1], data: () => one }]),
      "invalid-dtype",
    ],
    [
      "data of more than 2^53-1 bytes in all",
      () =>
        safetensorsChunks(
          ["u", "v", "w"].map(
            (name): TensorProducer => ({
              name,
              dtype: "uint8",
              shape: [2 ** 52],
              data: () => one,
            }),
          ),
        ),
      "invalid-shape",
      '"v"',
      "2\\^53",
    ],
    [
      "a producer without a name",
      () => safetensorsChunks([{ dtype: "uint8", shape: [1], data: () => one } as never]),
      "invalid-argument",
    ],
  ];
  it.each(refused)("%s", async (_, write, code, ...names) => {
    await expectError(write, { code, names });
  });

  it("a header past 100,000,000 bytes", async () => {
    const metadata = { text: "x".repeat(100_000_000) };
    await expectError(() => encodeSafetensors({}, { metadata }), {
      code: "limit-exceeded",
      names: ["100000000"],
    });
  });
});

describe("chunks", () => {
  it("are the file, header first, small tensors together and large ones as views", async () => {
    const large = tensor(new Uint8Array(9 << 20).fill(3));
    const small = Array.from({ length: 3000 }, (_, i): [string, Tensor] => [
      `s${i}`,
      tensor(new Float32Array(100).fill(i)),
    ]);
    const entries = new Map<string, Tensor>([...small, ["large", large]]);
    const { byteLength, chunks } = safetensorsChunks(entries);
    const got = await collect(chunks);
    const file = concat(...got);
    expect(byteLength).toBe(file.length);
    expect(sameBytes(file, encodeSafetensors(entries))).toBe(true);
    expect(got[0]?.length).toBe(parseSafetensorsHeader(file).dataOffset);
    expect(got.slice(1).map(({ length }) => length)).toEqual([
      1 << 20,
      1_200_000 - (1 << 20),
      8 << 20,
      1 << 20,
    ]);
    expect(got.slice(3).every(({ buffer }) => buffer === large.data.buffer)).toBe(true);
    expect(sameBytes(concat(...(await collect(chunks))), file)).toBe(true);
  });

  it("stay as they are given, whatever comes after", async () => {
    const part = (name: string, elements: number, value: number): [string, Tensor] => [
      name,
      tensor(new Float32Array(elements).fill(value)),
    ];
    const entries = new Map([
      part("a", 25, 1),
      part("b", 1 << 18, 2),
      part("c", 25, 3),
      part("d", 1 << 20, 4),
      part("e", 30, 5),
    ]);
    const producers = [...entries].map(([name, { dtype, shape, data }]) => ({
      name,
      dtype,
      shape,
      data: async function* () {
        yield new Uint8Array(data.buffer);
      },
    }));
    for (const given of [entries, producers]) {
      const kept: Uint8Array[] = [];
      const copies: Uint8Array[] = [];
      for await (const chunk of safetensorsChunks(given).chunks) {
        kept.push(chunk);
        copies.push(chunk.slice());
      }
      expect(sameBytes(concat(...kept), concat(...copies))).toBe(true);
      expect(sameBytes(concat(...kept), encodeSafetensors(entries))).toBe(true);
      // A sink that is done with each is given the same memory again.
      const memory = new Set<ArrayBufferLike>();
      copies.length = 0;
      const write = (chunk: Uint8Array): void => {
        memory.add(chunk.buffer);
        copies.push(chunk.slice());
      };
      await writeSafetensors({ transient: true, write, close() {} }, given);
      expect(sameBytes(concat(...copies), concat(...kept))).toBe(true);
      expect(memory.size).toBe(4); // the header's, that of b, that of d, and one for the others
    }
  });

  it("can be replaced in a copy, also for a sink that is done with each", async () => {
    const all = safetensorsChunks({ w: tensor([1, 2, 3]) });
    const replaced = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      for await (const chunk of all.chunks) yield chunk.map((byte) => byte ^ 255);
    };
    const file = concat(...(await collect(replaced())));
    const kept: Uint8Array[] = [];
    const write = (chunk: Uint8Array): void => void kept.push(chunk.slice());
    await writeChunks({ transient: true, write, close() {} }, { ...all, chunks: replaced() });
    expect(concat(...kept)).toEqual(file);
  });

  it("end in an error when a tensor has another size than its header says", async () => {
    for (const length of [2, 4, 0, 400_000]) {
      const changing = { dtype: "float32", shape: [3], data: new Float32Array(3) };
      const { chunks } = safetensorsChunks({ w: changing as Tensor, v: tensor([1]) });
      changing.data = new Float32Array(length);
      const error = await expectError(() => collect(chunks), {
        code: "invalid-argument",
        names: ['"w"'],
      });
      expect(error.details).toMatchObject({ name: "w", expected: 12, actual: 4 * length });
    }
  });

  it("of no tensors are a header", async () => {
    expect(concat(...(await collect(safetensorsChunks([]).chunks)))).toEqual(encodeSafetensors({}));
  });
});

describe("producers", () => {
  const values = Float32Array.from({ length: 1000 }, (_, i) => i);
  const produce = (name: string, data: () => unknown, shape = [1000]): TensorProducer => ({
    name,
    dtype: "float32",
    shape,
    data: data as TensorProducer["data"],
  });
  async function* pieces(size: number, bytes = bytesOf(values)) {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }

  it("give tensors, promises of them or bytes in any pieces, in the order of the file", async () => {
    const asked: string[] = [];
    const noted = (name: string, data: () => unknown) =>
      produce(name, () => {
        asked.push(name);
        return data();
      });
    const sink = new MemorySink();
    await writeSafetensors(sink, [
      noted("d", () => pieces(7)),
      noted("c", () => pieces(4000)),
      noted("b", async () => tensor(values)),
      noted("a", () => tensor(values)),
    ]);
    expect(asked).toEqual(["a", "b", "c", "d"]);
    const expected = encodeSafetensors(
      Object.fromEntries(asked.map((name) => [name, tensor(values.slice())])),
    );
    expect(sink.bytes).toEqual(expected);
  });

  it("may stand among pairs, and have no bytes", async () => {
    const sink = new MemorySink();
    const empty = produce("e", async function* () {} as never, [0]);
    await writeSafetensors(sink, [["w", tensor(values)], empty] as never);
    expect([...decodeSafetensors(sink.bytes ?? ([] as never)).tensors.keys()]).toEqual(["e", "w"]);
  });

  const wrong: [string, TensorProducer, string, ...string[]][] = [
    [
      "too few bytes",
      produce("w", () => pieces(8, bytesOf(values).subarray(4))),
      "invalid-argument",
      "w",
      "4000",
      "3996",
    ],
    ["no bytes", produce("w", async function* () {} as never), "invalid-argument", "w", "4000"],
    [
      "too many bytes",
      produce("w", () => pieces(4096, new Uint8Array(4001))),
      "invalid-argument",
      "w",
      "4000",
    ],
    ["another dtype", produce("w", () => zeros([1000], "int32")), "invalid-dtype", "w", "int32"],
    ["another shape", produce("w", () => zeros([10, 100])), "invalid-shape", "w", "10, 100"],
    [
      "another long shape",
      produce("w", () => zeros([...Array(20).fill(1), 1000]), [...Array(19).fill(1), 1000, 1]),
      "invalid-shape",
      "w",
    ],
    ["no tensor", produce("w", () => ({ dtype: "float32" })), "invalid-argument", "w"],
    ["nothing", produce("w", () => undefined), "invalid-argument", "w"],
    [
      "pieces that are no bytes",
      produce("w", async function* () {
        yield "x";
      } as never),
      "invalid-argument",
      '"w"',
      '"x"',
    ],
  ];
  it.each(wrong)("that give %s abort the sink", async (_, producer, code, ...names) => {
    const sink = new MemorySink();
    const first = produce("a", () => tensor(values));
    const error = await expectError(() => writeSafetensors(sink, [first, producer]), {
      code,
      names,
    });
    expect(sink.bytes).toBeUndefined();
    expect(sink.aborted).toBe(error);
  });

  it("that are announced wrongly leave the sink alone", async () => {
    const sink = new MemorySink();
    await expectError(() => writeSafetensors(sink, [produce("w", () => values, [-1])]), {
      code: "invalid-shape",
    });
    expect([sink.bytes, sink.aborted, sink.chunks]).toEqual([undefined, undefined, []]);
  });

  it("that fail abort the sink with their own error", async () => {
    const sink = new MemorySink();
    const reason = new Error("the device is gone");
    let closed = false;
    const failing = produce("w", async function* () {
      try {
        yield new Uint8Array(8);
        throw reason;
      } finally {
        closed = true;
      }
    } as never);
    await expect(writeSafetensors(sink, [failing])).rejects.toBe(reason);
    expect([sink.bytes, sink.aborted, closed]).toEqual([undefined, reason, true]);
  });

  it("are stopped when their chunks are no longer wanted", async () => {
    let stopped = false;
    const endless = produce(
      "w",
      async function* () {
        try {
          for (;;) yield new Uint8Array(300 << 10);
        } finally {
          stopped = true;
        }
      } as never,
      [1 << 30],
    );
    let count = 0;
    for await (const _ of safetensorsChunks([endless]).chunks) if (++count === 4) break;
    expect(stopped).toBe(true);
  });
});

describe("a sink", () => {
  it("that fails is aborted with its own error", async () => {
    for (const method of ["write", "close"] as const) {
      const sink = new MemorySink();
      const reason = new Error(`no ${method}`);
      Object.assign(sink, {
        [method]: () => {
          throw reason;
        },
      });
      await expect(writeSafetensors(sink, { w: one })).rejects.toBe(reason);
      expect([sink.bytes, sink.aborted]).toEqual([undefined, reason]);
    }
  });

  it("may be a WritableStream", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writing = writeSafetensors(writable, { w: one });
    const reader = readable.getReader();
    const chunks: Uint8Array[] = [];
    for (let next = await reader.read(); !next.done; next = await reader.read())
      chunks.push(next.value);
    await writing;
    expect(concat(...chunks)).toEqual(encodeSafetensors({ w: one }));
  });
});

describe("names that share memory", () => {
  const buffer = Float32Array.from({ length: 8 }, (_, i) => i);
  const all = tensor(buffer, [2, 4]);
  const head = tensor(buffer.subarray(0, 4));
  const tail = tensor(buffer.subarray(4));

  it("are refused, by both names", async () => {
    await expectError(() => encodeSafetensors({ all, tail }), {
      code: "invalid-argument",
      names: ['"all"', '"tail"', "aliases"],
    });
    await expectError(() => encodeSafetensors({ b: all, a: all }), { code: "invalid-argument" });
  });

  it("are not those that only lie side by side, or have no bytes", () => {
    const empty = tensor(buffer.subarray(2, 2));
    const { tensors } = decodeSafetensors(
      encodeSafetensors({ head, tail, empty, other: zeros([0], "float32") }),
    );
    expect([...tensors.keys()]).toEqual(["empty", "head", "other", "tail"]);
  });

  it("are written once each with copy", () => {
    const { tensors, metadata } = decodeSafetensors(
      encodeSafetensors({ all, tail }, { aliases: "copy" }),
    );
    expect(tensors.get("tail")?.data).toEqual(tail.data);
    expect(tensors.get("all")?.data).toEqual(all.data);
    expect(metadata.size).toBe(0);
  });

  it("are written once with metadata, under the first name that covers them", () => {
    const entries = { z: all, m: all, a: tail, b: head, other: one };
    const { tensors, metadata } = decodeSafetensors(
      encodeSafetensors(entries, { aliases: "metadata", metadata: { k: "v" } }),
    );
    expect([...tensors.keys()]).toEqual(["m", "other"]);
    expect([...metadata]).toEqual([
      ["a", "m"],
      ["b", "m"],
      ["k", "v"],
      ["z", "m"],
    ]);
  });

  it("are refused with metadata when none covers them, or when metadata says otherwise", async () => {
    const middle = tensor(buffer.subarray(2, 6));
    await expectError(() => encodeSafetensors({ head, middle }, { aliases: "metadata" }), {
      code: "invalid-argument",
      names: ["head", "middle", "copy"],
    });
    await expectError(
      () => encodeSafetensors({ a: all, b: all }, { aliases: "metadata", metadata: { b: "x" } }),
      { code: "invalid-argument", names: ["b"] },
    );
    expect(
      decodeSafetensors(
        encodeSafetensors({ a: all, b: all }, { aliases: "metadata", metadata: { b: "a" } }),
      ).metadata.get("b"),
    ).toBe("a");
  });
});
