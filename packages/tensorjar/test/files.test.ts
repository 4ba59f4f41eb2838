import { zipSync } from "fflate";
import { describe, expect, test } from "vitest";
import { expectError, fromHex } from "../../../tooling/testing.js";
import {
  type Bytes,
  bytesSource,
  decodeNpz,
  encodeNpy,
  encodeNpz,
  encodeSafetensors,
  type FacadeSource,
  inspectCheckpoint,
  load,
  loadCheckpoint,
  npzCheckpoint,
  open,
  type SinkLike,
  save,
  saveCheckpoint,
  tensor,
  verifyCheckpoint,
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
    [
      "a Blob that does not know its size", // Bun.stdin
      () => Object.defineProperty(new Blob([bytes]), "size", { value: Number.POSITIVE_INFINITY }),
    ],
    ["a byte source", () => bytesSource(bytes)],
    ["a promise of a byte source", () => Promise.resolve(bytesSource(bytes))],
    ["a Response", () => new Response(bytes)],
    ["a stream", () => new Blob([bytes]).stream()],
    ["an async iterable", () => pieces(bytes)],
    ["a data: URL", () => new URL(`data:;base64,${btoa(String.fromCharCode(...bytes))}`)],
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

test("a stream is let go of: read to its end, refused, or given up while it waits", async () => {
  const reasons: string[] = [];
  const stream = (name: string, chunk?: unknown) =>
    new ReadableStream({
      start(controller) {
        if (chunk !== undefined) controller.enqueue(chunk);
        if (chunk instanceof Uint8Array) controller.close();
      },
      cancel: () => void reasons.push(name),
    });
  const whole = stream("whole", encodeNpy(weight));
  await load(whole);
  const text = stream("text", "text");
  await expectError(() => load(text), { code: "invalid-argument" });
  const controller = new AbortController();
  const { signal } = controller;
  const silent = stream("silent");
  const body = new Response(stream("body"));
  const loading = Promise.allSettled([load(silent, { signal }), load(body, { signal })]);
  for (let turn = 0; turn < 20; turn++) await undefined; // both wait for their first chunk
  controller.abort(new Error("enough"));
  expect((await loading).map((result) => "reason" in result && result.reason.message)).toEqual([
    "enough",
    "enough",
  ]);
  expect(reasons.sort()).toEqual(["body", "silent", "text"]);
  for (const { locked } of [whole, text, silent]) expect(locked).toBe(false);
});

test("an error of another copy of tensorjar stays what it is", async () => {
  const foreign = Object.assign(new Error("cut"), {
    code: "truncated",
    details: {},
    [Symbol.for("tensorjar.error")]: true,
  });
  const chunks = (async function* () {
    yield new Uint8Array(4);
    throw foreign;
  })();
  await expect(load(chunks)).rejects.toBe(foreign);
});

test("a URL of another kind is no path", async () => {
  await expectError(() => load(new URL("ftp://host.example/a.npz")), { code: "http" });
});

test("URLs in messages hold no password and no signature", async () => {
  const secret = "https://user:word@host.example/a.npz?X-Amz-Signature=abc";
  const response = Object.defineProperty(new Response("", { status: 403 }), "url", {
    value: secret,
  });
  for (const [act, named] of [
    [() => load(response), "host\\.example/a\\.npz"],
    [() => save(secret, { weight }), "a URL"],
    [() => save(secret, { weight }, { format: "npz" }), "a URL"],
  ] as const) {
    const error = await expectError(act, { names: [named] });
    expect(JSON.stringify([error.message, error.details])).not.toMatch(/word|abc/);
  }
});

test("white space before a safetensors header hides it from nobody", async () => {
  for (const spaces of [496, 504, 5000, 70_000, 200_000]) {
    const text = `${" \n\t\r".repeat(spaces / 4)}{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`;
    const bytes = new Uint8Array(8 + text.length + 1);
    new DataView(bytes.buffer).setUint32(0, text.length, true);
    bytes.set(new TextEncoder().encode(text), 8);
    bytes[8 + text.length] = 7;
    expect((await load(bytes)).tensors.get("a")).toEqual(tensor(Uint8Array.of(7)));
    await expectError(() => loadCheckpoint(bytes), { code: "invalid-checkpoint" });
    // Only what a header may hold is looked through: a declared length, and no end of white space.
    await expectError(() => load(bytes.slice(0, 8 + spaces)), { code: "not-this-format" });
    bytes[8 + spaces] = 0x5b; // "["
    await expectError(() => load(bytes), { code: "not-this-format" });
  }
  const asked: [number, number][] = [];
  const endless = {
    size: 2 ** 40,
    read: async (offset: number, length: number) => {
      asked.push([offset, length]);
      const bytes = new Uint8Array(length).fill(0x20);
      if (offset < 8) bytes.set([0, 0, 0, 1, 0, 0, 0, 0].slice(offset), 0);
      return bytes;
    },
  };
  await expectError(() => open(endless), { code: "not-this-format" });
  expect(asked.reduce((sum, [, length]) => sum + length, 0)).toBeLessThan(2 ** 24 + 2 ** 13);
  expect(Math.max(...asked.map(([, length]) => length))).toBeLessThan(2 ** 21);
});

/** A stored archive of one array and, before it, a member of each name. */
function zipAfter(names: readonly string[], arrays: readonly string[]): Uint8Array<ArrayBuffer> {
  const others = names.map((name) => [name, new TextEncoder().encode("content")]);
  const all = arrays.map((name) => [name, encodeNpy(weight)]);
  return new Uint8Array(zipSync(Object.fromEntries([...others, ...all]), { level: 0 }));
}

test.each([
  ".DS_Store",
  ".gitattributes",
  "d/.DS_Store",
  "version",
  "byteorder",
  "data/0",
  "code/readme",
  "README.md",
  "archive/version",
  "archive/data/0",
  "archive/byteorder",
  "model/.format_version",
])("arrays after a member called %s are read", async (name) => {
  const bytes = zipAfter([name], ["weight.npy"]);
  expect((await load(bytes)).tensors).toEqual(new Map([["weight", weight]]));
  const sink = memorySink();
  const state = { params: { w: weight }, optimizers: {}, step: 3 };
  await saveCheckpoint(sink, state, { format: npzCheckpoint });
  const members = decodeNpz(sink.result() ?? new Uint8Array());
  const checkpoint = zipSync(
    Object.fromEntries([
      [name, new Uint8Array(7)],
      ...[...members].map(([key, array]) => [`${key}.npy`, encodeNpy(array)]),
    ]),
    { level: 0 },
  );
  expect((await loadCheckpoint(checkpoint)).step).toBe(3);
  expect((await inspectCheckpoint(checkpoint)).step).toBe(3);
  expect((await verifyCheckpoint(checkpoint)).step).toBe(3);
});

test.each([
  ["by its first member", ["archive/data.pkl", "archive/byteorder", "archive/data/0"]],
  ["by its first member", ["m/.format_version", "m/data/0"]],
  ["by its first member", ["archive/data/0"]],
  ["by its directory", ["m/version", "m/data/0", "m/data.pkl"]],
  ["by its directory", ["byteorder", "data.pkl"]],
  ["by its directory", ["README.md", "m/constants.pkl"]],
])("an archive without arrays is known for PyTorch's %s: %j", async (how, names) => {
  const bytes = zipAfter(names, []);
  const told = { code: "not-this-format", names: ["PyTorch", "safetensors"] } as const;
  for (const read of [load, open, loadCheckpoint]) await expectError(() => read(bytes), told);
  if (how === "by its directory") return;
  await expectError(() => load(bytes.subarray(0, -30)), told);
  for (const read of [inspectCheckpoint, verifyCheckpoint])
    await expectError(() => read(bytes), told);
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
