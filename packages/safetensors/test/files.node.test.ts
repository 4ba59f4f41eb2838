import { open, readFile, truncate, utimes, writeFile } from "node:fs/promises";
import { type Tensor, tensor } from "@tensorjar/core";
import { describe, expect, it, test } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import {
  expectError,
  type RecordingSource,
  recordingSource,
  sameBytes,
} from "../../../tooling/testing.js";
import {
  decodeSafetensors,
  encodeSafetensors,
  encodeSafetensorsHeader,
  fileSink,
  fileSource,
  openSafetensors,
  openShardedSafetensors,
  updateSafetensorsMetadata,
  writeSafetensors,
  writeShardedSafetensors,
} from "../src/index.node.js";

const { path, list } = temporaryFolder();

const tensors = new Map<string, Tensor>([
  ["w", tensor(Float32Array.from({ length: 200_000 }, (_, i) => i))],
  ["b", tensor(Float32Array.of(1, 2))],
]);

test("tensors of every size go to a file and come back, all, one by one and some of them", async () => {
  const sizes = [0, 3, 4_096, 20_000, 262_143, 262_144, 700_001, 1 << 20, (1 << 20) + 1, 5 << 20];
  const many = new Map(
    [...sizes, ...[...sizes].reverse()].map((size, i): [string, Tensor] => [
      `t${String(i).padStart(2, "0")}`,
      tensor(Uint8Array.from({ length: size }, (_, at) => at * (i + 1) + (at >> 8))),
    ]),
  );
  await writeSafetensors(fileSink(path("sizes")), many);
  const written = await readFile(path("sizes"));
  expect(sameBytes(written, encodeSafetensors(many))).toBe(true);
  const file = await openSafetensors(fileSource(path("sizes")));
  const whole = await file.getAll();
  const single = new Map<string, Tensor>();
  for await (const [name, one] of file.entries()) single.set(name, one);
  const some = await file.getAll(["t01", "t02", "t04", "t13", "t19"]);
  for (const [got, count] of [[whole, 20] as const, [single, 20] as const, [some, 5] as const]) {
    expect(got.size).toBe(count);
    for (const [name, { data }] of got) {
      expect(sameBytes(data, many.get(name)?.data ?? new Uint8Array(1))).toBe(true);
      expect(data.buffer.byteLength).toBe(data.byteLength); // memory of its own
    }
  }
  await file.close();
});

/** The lengths of the reads since the last time. */
const lengths = ({ reads }: RecordingSource) => reads.splice(0).map(([, length]) => length);

describe("a sparse file of 6 GiB", () => {
  const GiB = 2 ** 30;
  const MiB = 2 ** 20;
  it("is opened with one read, gives 1 MiB with one more, and a slice with its own bytes", async () => {
    const head = encodeSafetensorsHeader({
      a: { dtype: "uint8", shape: [3 * GiB], begin: 0, end: 3 * GiB },
      b: { dtype: "uint8", shape: [3 * GiB - MiB], begin: 3 * GiB, end: 6 * GiB - MiB },
      c: { dtype: "float32", shape: [512, 512], begin: 6 * GiB - MiB, end: 6 * GiB },
    });
    const file = await open(path("sparse"), "w");
    await file.write(head);
    await file.truncate(head.length + 6 * GiB);
    const row = Float32Array.from({ length: 512 }, (_, i) => i);
    await file.write(new Uint8Array(row.buffer), 0, 2048, head.length + 6 * GiB - 2048);
    await file.close();

    const source = recordingSource(await fileSource(path("sparse")));
    const opened = await openSafetensors(source);
    expect(lengths(source)).toEqual([65536]);
    expect(opened.footprint()).toBe(6 * GiB);
    const { data } = await opened.get("c");
    expect(lengths(source)).toEqual([MiB]);
    expect(data.subarray(-512)).toEqual(row);
    expect(await opened.slice("c", [-1])).toEqual({ dtype: "float32", shape: [512], data: row });
    expect((await opened.slice("c", [{ start: 510 }, { stop: 2 }])).data).toEqual(
      Float32Array.of(0, 0, 0, 1),
    );
    expect(lengths(source)).toEqual([2048, 8, 8]);
    await opened.close();
  });
});

describe("saving over the file that is open", () => {
  it("leaves the old content to who has it open, and the new to all others", async () => {
    await writeFile(path("model"), encodeSafetensors(tensors));
    const old = await openSafetensors(fileSource(path("model")));
    const doubled = [...old.names].map((name) => ({
      name,
      dtype: "float32" as const,
      shape: old.tensors.get(name)?.shape ?? [],
      async *data() {
        for await (const chunk of old.chunks(name)) {
          const values = new Float32Array(chunk.slice().buffer);
          yield new Uint8Array(values.map((value) => value * 2).buffer);
        }
      },
    }));
    await writeSafetensors(fileSink(path("model")), doubled);
    expect(await old.get("b")).toEqual(tensors.get("b"));
    await old.close();
    const { tensors: saved } = decodeSafetensors(await readFile(path("model")));
    expect(saved.get("b")?.data).toEqual(Float32Array.of(2, 4));
    expect(saved.get("w")?.data.at(-1)).toBe(399_998);
  });

  it("gives it other metadata", async () => {
    await writeFile(path("labelled"), encodeSafetensors(tensors, { metadata: { step: "1" } }));
    const source = fileSource(path("labelled"));
    await updateSafetensorsMetadata(source, fileSink(path("labelled")), (old) =>
      old.set("step", "2"),
    );
    const expected = encodeSafetensors(tensors, { metadata: { step: "2" } });
    expect(Buffer.compare(await readFile(path("labelled")), expected)).toBe(0);
    await expectError(() => openSafetensors(path("labelled") as never), {
      code: "invalid-argument",
      names: ["fileSource"],
    });
  });

  it("that fails leaves the old file and no other", async () => {
    const before = encodeSafetensors(tensors);
    await writeFile(path("kept"), before);
    const files = list();
    const producer = {
      name: "w",
      dtype: "uint8" as const,
      shape: [1 << 21],
      async *data() {
        yield new Uint8Array(1 << 20);
      },
    };
    await expectError(() => writeSafetensors(fileSink(path("kept")), [producer]), {
      code: "invalid-argument",
      names: ["w"],
    });
    await expectError(() =>
      writeSafetensors(fileSink(path("kept")), { w: { ...producer, data: "x" as never } }),
    );
    expect(Buffer.compare(await readFile(path("kept")), before)).toBe(0);
    expect(list()).toEqual(files);
  });
});

it("a file changed in place is source-changed", async () => {
  await writeFile(path("changed"), encodeSafetensors(tensors));
  const file = await openSafetensors(fileSource(path("changed")));
  await file.get("b");
  await truncate(path("changed"), 900_000);
  await utimes(path("changed"), 1, 1);
  await expectError(() => file.get("w"), { code: "source-changed" });
  await file.close();
});

it("a missing file is not-found", async () => {
  await expectError(() => openSafetensors(fileSource(path("nowhere"))), { code: "not-found" });
});

it("a sharded model is a folder of files, written whole or not at all", async () => {
  const index = path("model.safetensors.index.json");
  const sink = (name: string) => fileSink(path(name));
  await writeShardedSafetensors(sink, tensors, { maxShardBytes: 500_000 });
  const file = await openShardedSafetensors(await readFile(index), (name) =>
    fileSource(path(name)),
  );
  expect(file.names).toEqual(["w", "b"]);
  expect(await file.get("b")).toEqual(tensors.get("b"));
  await file.close();
  const files = list();
  const failing = (name: string) =>
    name.includes("2-of") ? fileSink(path("no folder", name)) : sink(name);
  await expectError(() =>
    writeShardedSafetensors(failing, tensors, { maxShardBytes: 500_000, prefix: "other" }),
  );
  expect(list()).toEqual(files);
});

it("a header of 4,000 tensors with names in every script is read", async () => {
  const entries = Array.from({ length: 4_000 }, (_, i): [string, Tensor] => [
    `層.${i}.重み`,
    tensor(Uint8Array.of(i & 255)),
  ]);
  await writeSafetensors(fileSink(path("many")), entries);
  const source = recordingSource(await fileSource(path("many")));
  const file = await openSafetensors(source);
  expect(source.reads.length).toBe(2);
  const all = await file.getAll();
  expect(all.size).toBe(4_000);
  expect(source.reads.length).toBe(3);
  expect(all.get("層.3999.重み")?.data).toEqual(Uint8Array.of(3_999 & 255));
  await file.close();
});
