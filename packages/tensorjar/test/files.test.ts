import { describe, expect, test } from "vitest";
import { expectError, fromHex } from "../../../tooling/testing.js";
import {
  type Bytes,
  bytesSource,
  encodeNpy,
  encodeNpz,
  encodeSafetensors,
  type FacadeSource,
  load,
  open,
  type SinkLike,
  save,
  tensor,
} from "../src/index.js";

const weight = tensor([1, 2, 3, 4, 5, 6], [2, 3], "float32");
const steps = tensor([7n, -1n], [2], "int64");

/** A sink that keeps what is written once it is closed. */
function memorySink(): SinkLike & { result(): Uint8Array<ArrayBuffer> | undefined } {
  const pieces: Uint8Array[] = [];
  let closed = false;
  return {
    write(chunk: Uint8Array) {
      pieces.push(chunk.slice());
    },
    close() {
      closed = true;
    },
    result: () => (closed ? new Uint8Array(pieces.flatMap((piece) => [...piece])) : undefined),
  };
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
}

const containers: [string, Bytes, string[]][] = [
  [
    "safetensors",
    encodeSafetensors({ weight, steps }, { metadata: { made: "here" } }),
    ["steps", "weight"],
  ],
  ["npz", encodeNpz({ weight, steps }), ["weight", "steps"]],
  ["npz", encodeNpz({ weight, steps }, { compression: "deflate" }), ["weight", "steps"]],
  ["npy", encodeNpy(weight), [""]],
];

describe.each(containers)("a file of format %s", (format, bytes, names) => {
  const sources: [string, () => FacadeSource][] = [
    ["bytes", () => bytes],
    ["an ArrayBuffer", () => bytes.buffer],
    ["a Blob", () => new Blob([bytes])],
    ["a byte source", () => bytesSource(bytes)],
    ["a promise of a byte source", () => Promise.resolve(bytesSource(bytes))],
    ["a Response", () => new Response(bytes)],
    ["a stream", () => new Blob([bytes]).stream()],
    ["an async iterable", () => pieces(bytes)],
  ];

  test.each(sources)("loads from %s, told by its content", async (_, source) => {
    const loaded = await load(source());
    expect(loaded.format).toBe(format);
    expect([...loaded.tensors.keys()].sort()).toEqual([...names].sort());
    for (const [name, actual] of loaded.tensors)
      expect(actual).toEqual(name === "steps" ? steps : weight);
  });

  test("opens without its data, and reads one tensor in memory of its own", async () => {
    const file = await open(bytes);
    const name = names.at(-1) ?? "";
    const first = await file.get(name);
    expect(await file.info(name)).toEqual({
      dtype: first.dtype,
      shape: first.shape,
      byteLength: first.data.byteLength,
    });
    expect(first.data.buffer).not.toBe(bytes.buffer);
    await expectError(() => file.get("absent"), { code: "not-found", names: ["absent"] });
    await file.close();
  });

  test("loads only the tensors that are named", async () => {
    const name = names[0] ?? "";
    expect([...(await load(bytes, { names: [name] })).tensors.keys()]).toEqual([name]);
    await expectError(() => load(bytes, { names: ["absent"] }), {
      code: "not-found",
      names: ["absent"],
    });
  });

  test("an abort before and during a load rejects with its reason", async () => {
    const reason = new Error("no longer wanted");
    await expect(load(bytes, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

test.each([
  [
    "an HTML page",
    new TextEncoder().encode("<!DOCTYPE html><title>404</title>"),
    "not-this-format",
    "HTML",
  ],
  [
    "a Git LFS pointer",
    new TextEncoder().encode("version https://git-lfs.github.com/spec/v1\n"),
    "not-this-format",
    "git lfs pull",
  ],
  ["gzip", fromHex("1f8b0800000000000003"), "not-this-format", "gzip"],
  ["a pickle", fromHex("80049500000000"), "not-this-format", "pickle"],
  ["nothing", new Uint8Array(), "truncated", "empty"],
  [
    "random bytes",
    fromHex("00112233445566778899aabbccddeeff00112233"),
    "not-this-format",
    "00 11 22 33",
  ],
  ["other JSON", new TextEncoder().encode('{"a": 1}'), "not-this-format", "JSON"],
])("%s is refused in words", async (_, bytes, code, words) => {
  await expectError(() => load(bytes), { code, names: [words] });
  await expectError(() => open(bytes), { code, names: [words] });
});

test("an array that is no tensor is refused by name, and the others stay readable", async () => {
  const file = await open(
    encodeNpz({ words: { dtype: "string", shape: [1], data: ["hi"], itemLength: 2 }, weight }),
  );
  await expectError(() => file.get("words"), { code: "unsupported", names: ["words", "string"] });
  expect(await file.get("weight")).toEqual(weight);
});

test("a failed response and a used one are told apart from bad bytes", async () => {
  await expectError(() => load(new Response("gone", { status: 404 })), {
    code: "not-found",
    names: ["404"],
  });
  await expectError(() => load(new Response("busy", { status: 500 })), {
    code: "http",
    names: ["500"],
  });
  const used = new Response(encodeNpy(weight));
  await used.arrayBuffer();
  await expectError(() => load(used), { code: "invalid-argument", names: ["already read"] });
});

test("a stream that fails is io, and one of strings is refused", async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(new TypeError("terminated"));
    },
  });
  await expectError(() => load(broken), { code: "io", names: ["terminated"] });
  const text = (async function* () {
    yield "text" as unknown as Uint8Array;
  })();
  await expectError(() => load(text), { code: "invalid-argument", names: ["text"] });
});

test("saves through a sink and a WritableStream, and aborts them when the tree cannot be saved", async () => {
  const sink = memorySink();
  await save(sink, { weight });
  expect((await load(sink.result() ?? new Uint8Array())).tensors.get("weight")).toEqual(weight);

  const written: Uint8Array[] = [];
  await save(
    new WritableStream({ write: (chunk) => void written.push(chunk) }),
    { weight },
    { format: "npz" },
  );
  expect((await load(new Blob(written.map((chunk) => new Uint8Array(chunk))))).format).toBe("npz");
});

test("a promise of any source is waited for, and bodies of other streams are read", async () => {
  const bytes = encodeNpy(weight);
  const foreign = { ok: true, status: 200, headers: {}, bodyUsed: false, body: pieces(bytes) };
  for (const source of [new Response(bytes), bytes, new Blob([bytes]), foreign]) {
    const { tensors } = await load(Promise.resolve(source as never));
    expect(tensors.get("")).toEqual(weight);
  }
  await expectError(() => load({ headers: {}, status: 200, body: null } as never), {
    code: "invalid-argument",
  });
  await expectError(
    () =>
      load({
        [Symbol.asyncIterator]() {
          throw new Error("no disk");
        },
      }),
    { code: "io", names: ["no disk"] },
  );
  await expectError(() => load(bytes, { names: 5 as never }), {
    code: "invalid-argument",
    names: ["names"],
  });
});

test("what is no target is refused as one", async () => {
  for (const target of [
    "https://a.b/c.npz",
    new URL("file:///c.npz"),
    { store: {}, name: "c.npz" },
  ]) {
    await expectError(() => save(target as never, { weight }), {
      code: "invalid-argument",
      names: ["path, a sink or \\{ store, name \\}"],
    });
  }
});
