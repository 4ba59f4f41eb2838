import { type SinkLike, type Tensor, tensor } from "@tensorjar/core";
import { describe, expect, it } from "vitest";
import { type Case, loadCases } from "../../../tooling/cases.js";
import {
  collect,
  concat,
  expectError,
  type RecordingSource,
  recordingSource,
  sameBytes,
} from "../../../tooling/testing.js";
import {
  decodeSafetensors,
  encodeSafetensors,
  openShardedSafetensors,
  type ShardedWriteOptions,
  type TensorEntries,
  writeShardedSafetensors,
} from "../src/index.js";
import { MemorySink } from "./files.js";

interface IndexCase extends Case {
  readonly weightMap?: readonly (readonly [string, string])[];
  readonly whenOpened?: Pick<Case, "expect" | "error">;
}
const { cases, read } = await loadCases<IndexCase>("index");

it.each(cases.map((one) => [one.id, one] as const))("%s", async (_, one) => {
  const text = new TextDecoder().decode(await read(one.file ?? ""));
  const nothing = () => {
    throw new Error("no shard is opened");
  };
  if (one.expect === "error") {
    await expectError(() => openShardedSafetensors(text, nothing), one.error);
    return;
  }
  const weightMap = one.weightMap ?? [];
  const file = await openShardedSafetensors(text, () => new Uint8Array());
  expect(file.names).toEqual(weightMap.map(([name]) => name));
  if (one.whenOpened?.expect === "error")
    await expectError(() => collect(file.entries()), one.whenOpened.error);
});

const bytes = (value: number, length = 10) => tensor(new Uint8Array(length).fill(value));
const model = new Map<string, Tensor>([
  ["d", bytes(1)],
  ["c", bytes(2)],
  ["é", bytes(3, 40)],
  ["b", bytes(4)],
  ["a", bytes(5)],
]);

async function write(
  entries: TensorEntries,
  options?: ShardedWriteOptions,
): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const sinks = new Map<string, MemorySink>();
  const open = async (file: string) => {
    const sink = new MemorySink();
    sinks.set(file, sink);
    return sink;
  };
  await writeShardedSafetensors(open, entries, options);
  return new Map([...sinks].map(([name, sink]) => [name, sink.bytes ?? new Uint8Array()]));
}

function indexOf(files: ReadonlyMap<string, Uint8Array>): string {
  return new TextDecoder().decode(files.get("model.safetensors.index.json"));
}

describe("a sharded model", () => {
  it("is filled in the order given, a tensor that is too large having a shard of its own", async () => {
    const files = await write(model, { maxShardBytes: 20, metadata: { format: "pt" } });
    const [one, two, three] = [1, 2, 3].map((n) => `model-0000${n}-of-00003.safetensors`);
    expect([...files.keys()]).toEqual([one, two, three, "model.safetensors.index.json"]);
    const shard = (name = "") => decodeSafetensors(files.get(name) ?? new Uint8Array());
    expect([one, two, three].map((name) => [...shard(name).tensors.keys()])).toEqual([
      ["é"],
      ["c", "d"],
      ["a", "b"],
    ]);
    expect([...shard(two).metadata]).toEqual([["format", "pt"]]);
    expect(indexOf(files)).toBe(`{
  "metadata": {
    "total_size": 80,
    "format": "pt"
  },
  "weight_map": {
    "\\u00e9": "${one}",
    "d": "${two}",
    "c": "${two}",
    "b": "${three}",
    "a": "${three}"
  }
}`);
  });

  it("of one shard is one plain file", async () => {
    const files = await write(model, { prefix: "unet" });
    expect([...files]).toEqual([["unet.safetensors", encodeSafetensors(model)]]);
    expect([...(await write({})).keys()]).toEqual(["model.safetensors"]);
  });

  it("comes in memory that is used again where a sink is done with each chunk, and in no other", async () => {
    const small = Array.from({ length: 20 }, (_, i) => [`${i}`, bytes(i, 100_000)]);
    const tensors: Record<string, Tensor> = Object.fromEntries(small);
    for (const transient of [true, undefined] as const) {
      const kept: Uint8Array[] = [];
      const copies: Uint8Array[] = [];
      const write = (chunk: Uint8Array): void => {
        kept.push(chunk);
        copies.push(chunk.slice());
      };
      await writeShardedSafetensors(() => ({ transient, write, close() {} }), tensors);
      expect(sameBytes(concat(...copies), encodeSafetensors(tensors))).toBe(true);
      expect(sameBytes(concat(...kept), concat(...copies))).toBe(!transient);
    }
  });

  it("is read as one file, each shard opened once and when it is needed", async () => {
    const files = await write(model, { maxShardBytes: 20, metadata: { note: "x" } });
    const opened: string[] = [];
    const sources: RecordingSource[] = [];
    const file = await openShardedSafetensors(indexOf(files), async (name: string) => {
      opened.push(name);
      const source = recordingSource(files.get(name) ?? new Uint8Array());
      sources.push(source);
      return source;
    });
    expect(file.names).toEqual(["é", "d", "c", "b", "a"]);
    expect([...file.metadata]).toEqual([
      ["total_size", "80"],
      ["note", "x"],
    ]);
    expect(opened).toEqual([]);
    expect(await file.get("b")).toEqual(model.get("b"));
    expect(await file.info("a")).toEqual({ dtype: "uint8", shape: [10], byteLength: 10 });
    expect(concat(...(await collect(file.chunks("a"))))).toEqual(model.get("a")?.data);
    expect(opened).toEqual(["model-00003-of-00003.safetensors"]);
    const progress: number[] = [];
    const all = new Map(
      await collect(
        file.entries(undefined, {
          onProgress: ({ loaded, total }) => progress.push(loaded / total),
        }),
      ),
    );
    expect(all).toEqual(model);
    expect(progress).toEqual([4 / 8, 5 / 8, 6 / 8, 7 / 8, 1]);
    expect(opened.length).toBe(3);
    await file.close();
    expect(sources.map(({ closed }) => closed)).toEqual([1, 1, 1]);
  });

  it("gives tensors that share memory back under all their names", async () => {
    const tied = tensor(Float32Array.of(1, 2, 3));
    const entries = { head: tied, embed: tied, ...Object.fromEntries(model) };
    const files = await write(entries, { maxShardBytes: 20, aliases: "metadata" });
    const file = await openShardedSafetensors(
      indexOf(files),
      (name) => files.get(name) ?? new Uint8Array(),
    );
    expect(file.names).toEqual(
      ["é", "embed", "d", "c", "b", "a", "head"].sort(
        (x, y) => file.names.indexOf(x) - file.names.indexOf(y),
      ),
    );
    expect(await file.get("head")).toEqual(tied);
    const all = new Map(await collect(file.entries()));
    expect(all.get("head")).toEqual(tied);
    expect(all.get("head")?.data.buffer).not.toBe(all.get("embed")?.data.buffer);
    expect([...new Map(await collect(file.entries(["head"])))]).toEqual([["head", tied]]);
  });

  it("that fails leaves no sink committed", async () => {
    const sinks: MemorySink[] = [];
    const reason = new Error("disk full");
    const open = (file: string): SinkLike => {
      const sink = new MemorySink();
      if (file.includes("index"))
        sink.write = () => {
          throw reason;
        };
      sinks.push(sink);
      return sink;
    };
    await expect(writeShardedSafetensors(open, model, { maxShardBytes: 20 })).rejects.toBe(reason);
    expect(sinks.map(({ bytes: kept, aborted }) => [kept, aborted])).toEqual(
      Array(4).fill([undefined, reason]),
    );
  });

  it("opens no sink before everything is checked", async () => {
    const open = () => {
      throw new Error("no sink is opened");
    };
    const refused: [TensorEntries, ShardedWriteOptions, string][] = [
      [{ w: { ...bytes(1), shape: [3] } }, {}, "invalid-shape"],
      [{ a: bytes(1), __metadata__: bytes(1) }, { maxShardBytes: 10 }, "invalid-name"],
      [model, { maxShardBytes: 0 }, "invalid-argument"],
      [model, { maxShardBytes: Number.NaN }, "invalid-argument"],
      [model, { prefix: "../model" }, "invalid-name"],
      [model, { prefix: "" }, "invalid-name"],
      [model, { metadata: { n: 1 as never } }, "invalid-argument"],
    ];
    for (const [entries, options, code] of refused)
      await expectError(() => writeShardedSafetensors(open, entries, options), { code });
  });
});

describe("an index", () => {
  const open = (
    text: string | Uint8Array,
    shard: (file: string) => Uint8Array = () => encodeSafetensors({ w: bytes(1) }),
  ) => openShardedSafetensors(text, shard);

  it("may hold what is not known, and a total size as text or number", async () => {
    const text = `{"x":[1,{}],"metadata":{"total_size":"12","n":1e3,"list":[1],"object":{},"text":"[x]","none":null,"__proto__":"p"},"weight_map":{"w":"a.safetensors"},"y":null}`;
    const file = await open(new TextEncoder().encode(text));
    expect([...file.metadata]).toEqual([
      ["total_size", "12"],
      ["n", "1e3"],
      ["text", "[x]"],
      ["none", "null"],
      ["__proto__", "p"],
    ]);
    expect((await open('{"metadata":null,"weight_map":{}}')).names).toEqual([]);
  });

  it.each([
    "../a",
    "..",
    ".",
    "",
    "a/b",
    "/a",
    "a\\b",
    "C:a",
    "https://x/a",
    "%2e%2e%2fa",
    "a%2Fb",
    "%252e%252e",
    "a%5cb",
    "a\u0000",
    "a%00",
    "a\n",
    "%",
    "%zz",
    "a..b",
    "x".repeat(1001),
  ])("does not lead to %j", async (name) => {
    await expectError(() => open(JSON.stringify({ weight_map: { w: name } })), {
      code: "invalid-name",
    });
  });

  it.each(["a", "model-00001-of-00002.safetensors", "a b", "é.safetensors", "a%20b", ".hidden"])(
    "leads to %j",
    async (name) => {
      const asked: string[] = [];
      const file = await open(JSON.stringify({ weight_map: { w: name } }), (shard) => {
        asked.push(shard);
        return encodeSafetensors({ w: bytes(1) });
      });
      expect(await file.get("w")).toEqual(bytes(1));
      expect(asked).toEqual([name]);
    },
  );

  it("is refused for what it is not", async () => {
    const refused: [string | Uint8Array, string][] = [
      ["", "truncated"],
      ["[]", "invalid-header"],
      ["{}", "invalid-header"],
      ['{"weight_map":[]}', "invalid-header"],
      ['{"weight_map":{"w":1}}', "invalid-header"],
      ['{"weight_map":{},"weight_map":{}}', "invalid-header"],
      ['{"weight_map":{}} x', "invalid-header"],
      ['{"metadata":1,"weight_map":{}}', "invalid-header"],
      ['{"weight_map":{"w":"a","w":"a"}}', "duplicate-name"],
      ['{"metadata":null,"weight_map":{},"metadata":{}}', "invalid-header"],
      ['{"metadata":{"total_size":1,"total_size":"2"},"weight_map":{}}', "duplicate-name"],
      ['{"metadata":{"head":"w","head":"v"},"weight_map":{}}', "duplicate-name"],
      ["<!doctype html>", "not-this-format"],
      [encodeSafetensors({}), "not-this-format"],
      [Uint8Array.of(0x7b, 0x22, 0xff, 0x22), "invalid-utf8"],
    ];
    for (const [text, code] of refused) await expectError(() => open(text), { code });
    const error = await expectError(() => open('{"weight_map":{"w":1}}'));
    expect(error.details).toMatchObject({ name: "w", offset: 19 });
  });

  it("names the shard whose file is bad, and tries again when asked again", async () => {
    let shard: Uint8Array = new Uint8Array(4);
    const file = await open('{"weight_map":{"w":"s1","v":"s1"}}', () => shard);
    const error = await expectError(() => file.get("w"), { code: "truncated", names: ['"s1"'] });
    expect(error.details.path).toBe("s1");
    shard = encodeSafetensors({ w: bytes(1) });
    await expectError(() => file.get("w"), { code: "not-found", names: ['"v"', '"s1"'] });
    shard = encodeSafetensors({ w: bytes(1), v: bytes(2), other: bytes(3) });
    expect(await file.get("w")).toEqual(bytes(1));
    await expectError(() => file.get("other"), { code: "not-found" });
    await expectError(() => collect(file.entries(["other"])), { code: "not-found" });
  });

  it("closes a shard that lacks a tensor, and one that cannot be opened", async () => {
    for (const content of [encodeSafetensors({}), new Uint8Array(3)]) {
      const source = recordingSource(content);
      const file = await openShardedSafetensors('{"weight_map":{"w":"s"}}', () => source);
      await expectError(() => file.get("w"));
      expect(source.closed).toBe(1);
      await file.close();
    }
  });

  it("stops at a signal with its reason, before a shard is opened and while one is", async () => {
    const text = '{"weight_map":{"w":"s1","v":"s1","x":"s2"}}';
    const opened: string[] = [];
    let held = false;
    const file = await openShardedSafetensors(text, (name) => {
      opened.push(name);
      if (held) return new Promise<never>(() => {});
      return encodeSafetensors({ w: bytes(1), v: bytes(2) });
    });
    const reads: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => file.get("w", { signal }),
      (signal) => collect(file.chunks("w", { signal })),
      (signal) => collect(file.entries(undefined, { signal })),
      (signal) => collect(file.entries(undefined, { signal, onProgress() {} })),
      (signal) => collect(file.entries([], { signal })),
    ];
    for (const read of reads)
      await expect(read(AbortSignal.abort("before"))).rejects.toBe("before");
    expect(opened).toEqual([]);

    const given: string[] = [];
    const controller = new AbortController();
    const some = async () => {
      for await (const [name] of file.entries(["w", "v"], { signal: controller.signal })) {
        given.push(name);
        controller.abort("between");
      }
    };
    await expect(some()).rejects.toBe("between");
    expect(given).toHaveLength(1);

    held = true;
    const later = new AbortController();
    const { signal } = later;
    const waiting = [
      file.get("x", { signal }),
      collect(file.chunks("x", { signal })),
      collect(file.entries(["x"], { signal })),
    ];
    later.abort("while");
    expect(await Promise.allSettled(waiting)).toEqual(
      waiting.map(() => ({ status: "rejected", reason: "while" })),
    );
    expect(opened).toEqual(["s1", "s2"]);
  });

  it("closes every shard, also when one cannot be closed", async () => {
    const sources = new Map<string, RecordingSource>();
    const file = await openShardedSafetensors('{"weight_map":{"w":"s1","v":"s2"}}', (name) => {
      const source = recordingSource(encodeSafetensors({ w: bytes(1), v: bytes(2) }));
      sources.set(name, source);
      return source;
    });
    await collect(file.entries());
    const first = sources.get("s1");
    const reason = new Error("cannot close");
    if (first !== undefined) first.close = () => Promise.reject(reason);
    await expect(file.close()).rejects.toBe(reason);
    expect(sources.get("s2")?.closed).toBe(1);
  });

  it("passes on what opening a shard throws", async () => {
    const reason = new Error("no network");
    const file = await openShardedSafetensors('{"weight_map":{"w":"s"}}', () => {
      throw reason;
    });
    await expect(file.get("w")).rejects.toBe(reason);
  });
});
