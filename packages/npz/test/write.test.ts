import { crc32 } from "@tensorjar/core/codec";
import { describe, expect, test } from "vitest";
import {
  collect,
  expectError,
  gather,
  isUsual,
  toHex,
  unusualBuffers,
} from "../../../tooling/testing.js";
import { archiveWriter, join } from "../src/archive.js";
import {
  decodeNpz,
  encodeNpz,
  type NpyArray,
  npzChunks,
  openNpz,
  tensor,
  writeNpz,
} from "../src/index.js";
import { float32 } from "./zip-maker.js";

const arrays = new Map<string, NpyArray>([
  ["w", float32([1, 2, 3])],
  ["b", tensor(Int8Array.of(1))],
  ["größe", tensor(BigInt64Array.of(7n), [])],
]);

async function* coming(
  pairs: Iterable<readonly [string, NpyArray]>,
): AsyncGenerator<readonly [string, NpyArray]> {
  yield* pairs;
}

describe("an archive in the numpy profile", () => {
  test("has plain local headers with sizes, CRC-32 and the first day of zip", () => {
    const bytes = encodeNpz(arrays);
    const view = new DataView(bytes.buffer);
    const [version, flags, method, time, date] = [4, 6, 8, 10, 12].map((at) =>
      view.getUint16(at, true),
    );
    expect({ version, flags, method, time, date }).toEqual({
      version: 20,
      flags: 0,
      method: 0,
      time: 0,
      date: 0x21,
    });
    const start = 30 + view.getUint16(26, true) + view.getUint16(28, true);
    expect(view.getUint32(18, true)).toBe(140);
    expect(view.getUint32(22, true)).toBe(140);
    expect(view.getUint32(14, true)).toBe(crc32(bytes.subarray(start, start + 140)));
    expect(view.getUint16(35, true)).toBe(0xd935);
  });

  test("flags names UTF-8 where they are not ASCII", () => {
    const bytes = encodeNpz({ größe: float32([1]) });
    expect(new DataView(bytes.buffer).getUint16(6, true)).toBe(0x800);
    expect([...decodeNpz(bytes).keys()]).toEqual(["größe"]);
  });

  test("aligns array data, so that decoding gives views", () => {
    for (const align of [1, 2, 64, 128, 4096, 32768]) {
      for (let length = 1; length < 70; length += align > 64 ? 20 : 1) {
        const name = "n".repeat(length);
        const bytes = encodeNpz(
          { [name]: float32([1, 2]), [`${name}2`]: tensor(Float64Array.of(3)) },
          { align },
        );
        for (const array of decodeNpz(bytes).values()) {
          if (array.dtype !== "float32" && array.dtype !== "float64") throw new Error(array.dtype);
          if (align < 8) continue;
          expect(array.data.buffer).toBe(bytes.buffer);
          expect(array.data.byteOffset % Math.min(align, 64)).toBe(0);
          if (align > 64) expect((array.data.byteOffset - 128) % 64).toBe(0);
        }
      }
    }
  });

  test("deflates without alignment, and reads the same", () => {
    for (const level of [0, 1, 6, 9]) {
      const bytes = encodeNpz(arrays, { compression: "deflate", level });
      expect(new DataView(bytes.buffer).getUint16(28, true)).toBe(0);
      expect(decodeNpz(bytes)).toEqual(arrays);
    }
  });

  test("is the same for the same arrays, however they are given", async () => {
    const hex = toHex(encodeNpz(arrays));
    expect(toHex(encodeNpz([...arrays]))).toBe(hex);
    expect(toHex(encodeNpz(Object.fromEntries(arrays)))).toBe(hex);
    expect(toHex(await gather(npzChunks(arrays)))).toBe(hex);
    expect(toHex(await gather(npzChunks(coming(arrays))))).toBe(hex);
    const gem = toHex(encodeNpz(arrays, { profile: "gsplat" }));
    expect(toHex(await gather(npzChunks(coming(arrays), { profile: "gsplat" })))).toBe(gem);
  });

  test("of nothing is 22 bytes", () => {
    expect(encodeNpz({}).length).toBe(22);
    expect(decodeNpz(encodeNpz({})).size).toBe(0);
  });
});

describe("names", () => {
  const refused = [
    "",
    "a\0b",
    "/abs",
    "a\\b",
    "..",
    "../a",
    "a/../b",
    "a/..",
    "x".repeat(65_532),
    "\ud800",
  ];
  test.each(refused.map((name) => [JSON.stringify(name).slice(0, 20), name] as const))(
    "%s is refused",
    async (_, name) => {
      await expectError(
        () =>
          encodeNpz([
            ["ok", float32([1])],
            [name, float32([1])],
          ]),
        { code: "invalid-name" },
      );
      await expectError(() => npzChunks([[name, float32([1])]]), { code: "invalid-name" });
      await expectError(() => gather(npzChunks(coming([[name, float32([1])]]))), {
        code: "invalid-name",
      });
    },
  );

  const kept = [
    "a..b",
    "...",
    "a/b",
    "a.npy",
    " ",
    "__proto__",
    "constructor",
    "0",
    "x".repeat(65_531),
    "日本語",
    "\u202eevil",
  ];
  test.each(kept.map((name) => [JSON.stringify(name).slice(0, 20), name] as const))(
    "%s is kept",
    async (_, name) => {
      const bytes = encodeNpz(new Map([[name, float32([1])]]));
      expect([...decodeNpz(bytes).keys()]).toEqual([name]);
      expect((await openNpz(bytes)).names).toEqual([name]);
    },
  );

  test("given twice are refused", async () => {
    const pairs: [string, NpyArray][] = [
      ["a", float32([1])],
      ["a", float32([2])],
    ];
    await expectError(() => encodeNpz(pairs), { code: "duplicate-name", names: ['"a"'] });
    await expectError(() => gather(npzChunks(coming(pairs))), {
      code: "duplicate-name",
      names: ['"a"'],
    });
  });
});

test("what cannot be written is refused with the name of the array", async () => {
  const bad: Record<string, [unknown, string]> = {
    "no tensor": [3, "invalid-argument"],
    "a wrong length": [{ dtype: "float32", shape: [2], data: Float32Array.of(1) }, "invalid-shape"],
    bfloat16: [{ dtype: "bfloat16", shape: [1], data: Uint16Array.of(1) }, "unsupported"],
  };
  // An archive's own options have no asVoid.
  await expectError(() => encodeNpz({ a: bad.bfloat16?.[0] as never }), {
    names: ["encodeNpy with asVoid"],
  });
  for (const [array, code] of Object.values(bad)) {
    await expectError(() => encodeNpz({ culprit: array as never }), { code, names: ["culprit"] });
    await expectError(() => npzChunks({ culprit: array as never }), { code, names: ["culprit"] });
  }
  await expectError(() => encodeNpz(float32([1]) as never), { code: "invalid-argument" });
  await expectError(() => gather(npzChunks(coming([3 as never]))), { code: "invalid-argument" });
});

test("values that no option has are refused", async () => {
  const wrong = [
    { compression: "zstd" },
    { level: 10 },
    { level: 1.5 },
    { align: 0 },
    { align: 3 },
    { align: 65_536 },
    { align: 64n },
    { profile: "gem" },
  ];
  for (const options of wrong) {
    await expectError(() => encodeNpz({}, options as never), {
      code: "invalid-argument",
      names: Object.keys(options),
    });
    await expectError(() => npzChunks({}, options as never), { code: "invalid-argument" });
  }
});

test("memory that is transferred before it is written is refused", async () => {
  for (const compression of ["stored", "deflate"] as const) {
    for (const length of [100, 1 << 19]) {
      const data = new Uint8Array(length);
      const before = Array.from({ length: 5 }, (_, i) => noise(`a${i}`, 1 << 20));
      const chunks = npzChunks([...before, ["last", tensor(data)]], { compression });
      await chunks.next();
      structuredClone(data, { transfer: [data.buffer] });
      await expectError(() => gather(chunks), { code: "invalid-argument", names: ["transferred"] });
    }
  }
});

/** An array of so many bytes that do not compress. */
function noise(name: string, length: number): [string, NpyArray] {
  const data = new Uint8Array(length);
  let state = 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    data[at] = state >>> 24;
  }
  return [name, tensor(data)];
}

describe("writing to a sink", () => {
  test("writes the archive and closes", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const reading = new Response(readable).arrayBuffer();
    await writeNpz(writable, coming(arrays), { compression: "deflate" });
    expect(decodeNpz(await reading)).toEqual(arrays);
  });

  test("aborts with the reason when an array fails, and stops the iterable", async () => {
    const log: unknown[] = [];
    const sink = {
      write: () => {},
      close: () => log.push("closed"),
      abort: (reason: unknown) => log.push(reason),
    };
    const failure = new Error("out of arrays");
    async function* failing(): AsyncGenerator<readonly [string, NpyArray]> {
      yield ["a", float32([1])];
      throw failure;
    }
    await expect(writeNpz(sink, failing())).rejects.toBe(failure);
    expect(log).toEqual([failure]);
    await expectError(() => writeNpz(sink, { "": float32([1]) }), { code: "invalid-name" });
    expect(log).not.toContain("closed");
  });

  test("holds one array of an async iterable at a time", async () => {
    let pulled = 0;
    async function* large(): AsyncGenerator<readonly [string, NpyArray]> {
      for (; pulled < 3; pulled++) yield [`a${pulled}`, tensor(new Uint8Array(1 << 20))];
    }
    const chunks = npzChunks(large());
    for (let i = 0; i < 2; i++) await chunks.next();
    expect(pulled).toBeLessThanOrEqual(1);
    await chunks.return();
    expect(pulled).toBeLessThanOrEqual(1);
  });

  test("joins small pieces and passes large ones on without a copy", async () => {
    const data = new Uint8Array(70 << 20);
    const sizes: number[] = [];
    let views = 0;
    for await (const chunk of npzChunks({ a: float32([1]), big: tensor(data), z: float32([2]) })) {
      sizes.push(chunk.length);
      if (chunk.buffer === data.buffer) views++;
    }
    expect(Math.max(...sizes)).toBe(64 << 20);
    expect(views).toBe(2);
    expect(sizes).toHaveLength(4);
  });
});

test("memory that is shared or can change its size is copied, and deflates too", async () => {
  for (const buffer of unusualBuffers(100_000)) {
    const big = tensor(new Uint8Array(buffer).fill(3));
    for (const compression of ["stored", "deflate"] as const) {
      const chunks = await collect(npzChunks({ big }, { compression }));
      expect(chunks.every(isUsual)).toBe(true);
      const archive = await new Blob(chunks).arrayBuffer();
      expect(decodeNpz(archive).get("big")?.data).toEqual(new Uint8Array(100_000).fill(3));
      for (const memory of unusualBuffers(archive.byteLength)) {
        new Uint8Array(memory).set(new Uint8Array(archive));
        expect(decodeNpz(memory).get("big")?.data).toEqual(new Uint8Array(100_000).fill(3));
        const opened = await openNpz(memory);
        expect((await opened.get("big")).data).toEqual(new Uint8Array(100_000).fill(3));
        expect(await gather(opened.chunks("big"))).toEqual(new Uint8Array(100_000).fill(3));
      }
    }
  }
});

describe("zip64", () => {
  const style = { align: 64, unix: false, date: 0x21, utf8: false };
  const member = {
    nameBytes: new TextEncoder().encode("a.npy"),
    method: 0,
    crc32: 1,
    pieces: [],
  } as const;
  const of = (size: number) => ({ ...member, size, compressedSize: size });

  test("is written for sizes and offsets that do not fit, and only for them", () => {
    const writer = archiveWriter(style);
    const view = (bytes: Uint8Array) =>
      new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const small = view(writer.add(of(0xfffffffe)));
    expect([
      small.getUint16(4, true),
      small.getUint32(18, true),
      small.getUint16(35, true),
    ]).toEqual([20, 0xfffffffe, 0xd935]);
    const large = view(writer.add(of(0xffffffff)));
    expect([
      large.getUint16(4, true),
      large.getUint32(18, true),
      large.getUint32(22, true),
    ]).toEqual([45, 0xffffffff, 0xffffffff]);
    expect([large.getUint16(35, true), large.getUint16(37, true)]).toEqual([1, 16]);
    expect([large.getBigUint64(39, true), large.getBigUint64(47, true)]).toEqual([
      0xffffffffn,
      0xffffffffn,
    ]);
    expect((small.byteLength + 0xfffffffe + large.byteLength) % 64).toBe(0);
    writer.add(of(10));
    const [first, second, third, end] = writer.end().map(view);
    expect([first?.getUint16(6, true), first?.getUint16(30, true)]).toEqual([20, 0]);
    expect([
      second?.getUint16(6, true),
      second?.getUint16(30, true),
      second?.getUint16(53, true),
    ]).toEqual([45, 28, 24]);
    expect([
      third?.getUint16(30, true),
      third?.getUint32(42, true),
      third?.getUint32(20, true),
    ]).toEqual([12, 0xffffffff, 10]);
    expect(end?.byteLength).toBe(98);
    expect(end?.getUint32(92, true)).toBe(0xffffffff);
    expect([end?.getBigUint64(24, true), end?.getBigUint64(32, true)]).toEqual([3n, 3n]);
  });

  test("is written for 65,535 members and more", { timeout: 20_000 }, async () => {
    const writer = archiveWriter(style);
    const locals: Uint8Array[] = [];
    const nameBytes = new TextEncoder().encode("00000.npy");
    for (let count = 0; count < 66_000; count++) {
      if (count === 65_534) expect(writer.end().at(-1)?.length).toBe(22);
      if (count === 65_535) expect(writer.end().at(-1)?.length).toBe(98);
      const digits = String(count).padStart(5, "0");
      for (let i = 0; i < 5; i++) nameBytes[i] = digits.charCodeAt(i);
      locals.push(writer.add({ ...of(0), nameBytes }));
    }
    const file = await openNpz(join(locals.concat(writer.end())));
    expect(file.names).toHaveLength(66_000);
    expect(file.names.at(-1)).toBe("65999");
  });
});
