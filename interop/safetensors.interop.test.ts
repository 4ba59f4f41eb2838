import { readFile, writeFile } from "node:fs/promises";
import { tensorFromBytes } from "@tensorjar/core/codec";
import {
  type Bytes,
  decodeSafetensors,
  encodeSafetensors,
  fileSource,
  isTensorjarError,
  openSafetensors,
  openShardedSafetensors,
  type Tensor,
  tensor,
  writeShardedSafetensors,
} from "@tensorjar/safetensors/node";
import { expect, test } from "vitest";
import { dtypeCalled, headerName } from "../packages/safetensors/src/dtype-names.js";
import { bytesOf, fromHex, toHex } from "../tooling/testing.js";
import { interop, readPack, type Span, writePack } from "./python.js";

/** Tensors by name with header dtype, shape and hex; metadata by key. Both sorted by code points. */
type Content = readonly [
  readonly (readonly [name: string, dtype: string, shape: readonly number[], hex: string])[],
  readonly (readonly [key: string, value: string])[],
];

const seed = Number(process.env["SAFETENSORS_SEED"] ?? 20260101);
const headers = Number(process.env["SAFETENSORS_HEADERS"] ?? 50_000);
const sets = 400;

interop("the safetensors package", "core", (python) => {
  test(`agrees on ${headers} files, sound and spoiled, but for what is stricter on purpose`, async () => {
    await python.run("safetensors_files.py", "headers", `${seed}`, `${headers}`);
    const { index, part } = await readPack<[Span, Content | null][]>(python, "headers");
    expect(index.length).toBe(headers);
    const counts = { accepted: 0, refused: 0, stricter: 0 };
    for (const [at, [span, theirs]] of index.entries()) {
      const what = `file ${at} of seed ${seed}: ${JSON.stringify(new TextDecoder("latin1").decode(part(span)))}`;
      const ours = read(part(span), what);
      if (typeof ours !== "string") {
        expect(ours, what).toEqual(theirs);
        counts.accepted++;
      } else if (theirs === null) counts.refused++;
      else {
        expect(ours, what).toMatch(onPurpose);
        counts.stricter++;
      }
    }
    console.log(`safetensors: ${JSON.stringify(counts)}`);
    expect(counts.accepted).toBeGreaterThan(headers / 4);
    expect(counts.refused).toBeGreaterThan(headers / 10);
    expect(counts.stricter).toBeGreaterThan(10);
  });

  test(`writes the same bytes for ${sets} sets of tensors, and reads ours`, async () => {
    await python.run("safetensors_files.py", "sets", `${seed}`, `${sets}`);
    interface Set {
      readonly file: Span;
      readonly tensors: Content[0];
      readonly metadata: Content[1];
    }
    const { index, part } = await readPack<Set[]>(python, "sets");
    expect(index.length).toBe(sets);
    const ours: Bytes[] = [];
    for (const { file, tensors, metadata } of index) {
      const given = tensors.map(([name, dtype, shape, hex]): [string, Tensor] => [
        name,
        tensorOf(dtype.replace("_x2", ""), shape, hex),
      ]);
      const encoded = encodeSafetensors(given, { metadata });
      expect(Buffer.compare(encoded, part(file)), JSON.stringify(tensors)).toBe(0);
      const more = new Map([...metadata, ["ours", "1"]]);
      ours.push(encodeSafetensors(given, { metadata: more, dataAlignment: 64 }));
    }
    await writePack(python, ours, (span, bytes) => [span, read(bytes, "ours")]);
    expect(await python.run("safetensors_files.py", "check")).toBe(`${sets}\n`);
  });
});

/** The stricter rules of docs/formats.md, by code and message. */
const onPurpose =
  /^(duplicate-name: |invalid-header: .*expected (an object, found "\[|a string, found "\{)|invalid-shape: .*2\^53-1)/s;

interop("torch", "torch", (python) => {
  test("reads what we write, and we read what it writes", async () => {
    const report = JSON.parse(await python.run("safetensors_files.py", "torch-write"));
    const { tensors, metadata } = decodeSafetensors(
      await readFile(python.path("kinds.safetensors")),
    );
    expect([...metadata]).toEqual([["format", "pt"]]);
    const kinds = [...tensors].map(([name, { shape, data }]) => [
      name,
      [shape, toHex(bytesOf(data))],
    ]);
    expect(Object.fromEntries(kinds)).toEqual(report.kinds);

    const tied = await openSafetensors(await readFile(python.path("tied.safetensors")));
    expect(tied.names.length).toBe(1);
    for (const name of ["embed.weight", "head.weight"]) {
      const { data } = await tied.get(name);
      expect(toHex(bytesOf(data))).toBe(report.tied);
    }
  });

  test("is sharded by the hub's library as by us, and read back under every name", async (context) => {
    const report = JSON.parse(await python.run("safetensors_files.py", "hub-write"));
    if (report === null) return context.skip("huggingface_hub is not installed");
    const text = await readFile(python.path("sharded/model.safetensors.index.json"), "utf8");
    const model = await openShardedSafetensors(text, (name) =>
      fileSource(python.path(`sharded/${name}`)),
    );
    const read: [string, Tensor][] = [];
    for await (const entry of model.entries()) read.push(entry);
    await model.close();
    expect(
      Object.fromEntries(read.map(([name, { data }]) => [name, toHex(bytesOf(data))])),
    ).toEqual(report);

    const { metadata } = model;
    const all = new Map(read);
    const kept = Object.keys(report).flatMap((name) => {
      const found = metadata.has(name) ? undefined : all.get(name);
      return found === undefined ? [] : [[name, found] as const];
    });
    const ours = new Map<string, string>();
    const sink = (name: string) => {
      const chunks: Uint8Array[] = [];
      return {
        write: (chunk: Uint8Array) => chunks.push(chunk.slice()),
        close: () => ours.set(name, Buffer.concat(chunks).toString("latin1")),
      };
    };
    await writeShardedSafetensors(sink, kept, {
      maxShardBytes: 500,
      metadata: [...metadata].filter(([key]) => key !== "total_size"),
    });
    expect(ours.get("model.safetensors.index.json")).toBe(text);
  });

  test("opens bfloat16, float16, bool, complex64, zero sizes and scalars of ours", async () => {
    const ours: Record<string, Tensor> = {
      bool: tensor([true, false]),
      bf16: tensor(Uint16Array.of(0x3f80, 0xc000), [2, 1], "bfloat16"),
      f16: tensor(Uint16Array.of(0x3c00, 0xc000), [2], "float16"),
      c64: tensor(Float32Array.of(1, -2), [1], "complex64"),
      empty: tensor(new Float32Array(0), [0, 3]),
      scalar: tensor(7, [], "int64"),
      "ünï/😀": tensor(Float64Array.of(0.1)),
    };
    await writeFile(
      python.path("ours.safetensors"),
      encodeSafetensors(ours, { metadata: { format: "pt" } }),
    );
    expect(JSON.parse(await python.run("safetensors_files.py", "torch-read"))).toEqual({
      bool: ["torch.bool", [2], [1, 0]],
      bf16: ["torch.bfloat16", [2, 1], [1, -2]],
      f16: ["torch.float16", [2], [1, -2]],
      c64: ["torch.complex64", [1], [1, -2]],
      empty: ["torch.float32", [0, 3], []],
      scalar: ["torch.int64", [], [7]],
      "ünï/😀": ["torch.float64", [1], [0.1]],
    });
  });
});

/** Content in Python's form, or the code and message of a TensorjarError. */
function read(bytes: Uint8Array, what: string): Content | string {
  try {
    const { tensors, metadata } = decodeSafetensors(bytes);
    const list = [...tensors].map(([name, { dtype, shape, data }]): Content[0][number] => [
      name,
      headerName(dtype) ?? "",
      shape,
      toHex(bytesOf(data)),
    ]);
    return [list.sort(byKey), [...metadata].sort(byKey)];
  } catch (error) {
    if (isTensorjarError(error)) return `${error.code}: ${error.message}`;
    throw new Error(what, { cause: error });
  }
}

/** As Python sorts. */
function byKey(a: readonly [string, ...unknown[]], b: readonly [string, ...unknown[]]): number {
  return Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0]));
}

function tensorOf(dtype: string, shape: readonly number[], text: string): Tensor {
  const known = dtypeCalled(dtype) ?? (dtype as Tensor["dtype"]); // Python's names are ours, but for F4
  return tensorFromBytes(known, shape, fromHex(text)) as Tensor;
}
