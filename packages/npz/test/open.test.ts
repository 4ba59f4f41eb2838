import { encodeNpy } from "@tensorjar/npy";
import { describe, expect, test } from "vitest";
import { startCaseServer } from "../../../tooling/case-server.js";
import {
  concat,
  expectError,
  gather,
  recordingSource,
  sameBytes,
} from "../../../tooling/testing.js";
import {
  type ByteSource,
  bytesSource,
  decodeNpz,
  encodeNpz,
  httpSource,
  type NpyArray,
  openNpz,
  type Progress,
  type Tensor,
  tensor,
} from "../src/index.js";
import { fields, float32, latin, makeZip, npyBytes, npyMember } from "./zip-maker.js";

/** `length` times four bytes that do not compress. */
function noise(length: number, seed: number): Tensor {
  const bits = new Uint32Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) bits[i] = state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return tensor(new Uint8Array(bits.buffer));
}

const arrays: Record<string, NpyArray> = {
  weight: float32([1, 2, 3, 4]),
  "layers.0/bias": tensor(BigInt64Array.of(1n, -2n)),
  names: { dtype: "string", shape: [2], data: ["α", "plain"], itemLength: 5 },
  when: { dtype: "datetime64", shape: [1], data: BigInt64Array.of(5n), unit: "ns" },
  none: tensor(new Float64Array(0), [3, 0]),
};

describe("an open archive", () => {
  for (const compression of ["stored", "deflate"] as const) {
    test(`${compression}: lists its members and reads each on demand`, async () => {
      const bytes = encodeNpz(arrays, { compression });
      const file = await openNpz(bytes);
      expect(file.format).toBe("npz");
      expect(file.metadata.size).toBe(0);
      expect(file.names).toEqual(Object.keys(arrays));
      expect(file.members.map(({ name, method }) => [name, method])).toEqual(
        Object.keys(arrays).map((name) => [`${name}.npy`, compression]),
      );
      const [first] = file.members;
      expect(first).toMatchObject({ size: 144, offset: 0 });
      for (const [name, array] of Object.entries(arrays)) {
        expect(await file.get(name)).toEqual(array);
        expect(await file.get(`${name}.npy`)).toEqual(array);
        const { dtype, shape } = array;
        expect(await file.info(name)).toMatchObject({ dtype, shape });
        expect(await file.header(name)).toMatchObject({
          version: [1, 0],
          fortranOrder: false,
          shape,
        });
      }
      expect(await file.getAll()).toEqual(new Map(Object.entries(arrays)));
      expect([...(await file.getAll(["when", "weight"])).keys()]).toEqual(["weight", "when"]);
      expect(await file.info("names")).toEqual({ dtype: "string", shape: [2], byteLength: 40 });
    });
  }

  test("gives the bytes of any member, by its own name first", async () => {
    const file = await openNpz(
      makeZip([
        { name: "README", raw: latin("hello") },
        npyMember("a.npy", [1]),
        npyMember("a.npy.npy", [2]),
        { name: "dir/", raw: new Uint8Array(0) },
      ]),
    );
    expect(await file.bytes("README")).toEqual(latin("hello"));
    expect(await file.bytes("a.npy")).toEqual(npyBytes([1]));
    expect(await file.bytes("a")).toEqual(npyBytes([1]));
    expect(await file.bytes("a.npy.npy")).toEqual(npyBytes([2]));
    expect(await file.bytes("dir/")).toEqual(new Uint8Array(0));
    expect((await file.get("a")).data).toEqual(Float32Array.of(1));
    expect((await file.get("a.npy")).data).toEqual(Float32Array.of(2));
    await expectError(() => file.bytes("readme"), {
      code: "not-found",
      names: ["readme", "README"],
    });
    await expectError(() => file.get("b"), { code: "not-found", names: ['"b"'] });
    await expectError(() => file.getAll(["a", "b"]), { code: "not-found", names: ['"b"'] });
    await expectError(() => file.get("README"), { code: ["not-this-format", "truncated"] });
  });

  test("gives arrays in memory of their own", async () => {
    for (const compression of ["stored", "deflate"] as const) {
      for (const count of [3, 25_000]) {
        const bytes = encodeNpz({ a: noise(count, 1), b: noise(count, 2) }, { compression });
        const before = bytes.slice();
        const file = await openNpz(bytes);
        const all = [
          await file.get("a"),
          ...(await file.getAll()).values(),
          ...decodeNpz(bytes, { copy: true }).values(),
        ];
        const buffers = all.map((array) =>
          array.dtype === "uint8" ? array.data.buffer : undefined,
        );
        expect(new Set(buffers).size).toBe(all.length);
        for (const array of all) if (array.dtype === "uint8") array.data.fill(0);
        expect(sameBytes(bytes, before)).toBe(true);
        for (const buffer of buffers) expect(buffer).not.toBe(bytes.buffer);
      }
    }
  });

  test("takes npy options", async () => {
    const text = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }\n";
    const data = fields(...[0, 1, 2, 3, 4, 5].map((i): [number, number] => [4, swapped(i)]));
    const npy = concat(latin("\x93NUMPY\x01\x00"), fields([2, text.length]), latin(text), data);
    const bytes = makeZip([{ name: "f.npy", raw: npy }, npyMember("v.npy")]);
    const file = await openNpz(bytes);
    expect(await file.get("f")).toEqual(tensor(Float32Array.of(0, 2, 4, 1, 3, 5), [2, 3]));
    expect(await gather(file.chunks("f"))).toEqual(bytesOf(Float32Array.of(0, 2, 4, 1, 3, 5)));
    const reversed = await openNpz(bytes, { fortranOrder: "reverse-shape" });
    expect(await reversed.get("f")).toEqual(tensor(Float32Array.of(0, 1, 2, 3, 4, 5), [3, 2]));
    expect((await reversed.info("f")).shape).toEqual([3, 2]);
    expect(await gather(reversed.chunks("f"))).toEqual(bytesOf(Float32Array.of(0, 1, 2, 3, 4, 5)));
    const rejecting = await openNpz(bytes, { fortranOrder: "reject" });
    await expectError(() => rejecting.get("f"), { code: "unsupported", names: ["f\\.npy"] });
    expect((await rejecting.get("v")).shape).toEqual([3]);
    await expectError(() => openNpz(bytes, { fortranOrder: "c" as never }), {
      code: "invalid-argument",
    });
  });

  test("reads its chunks in bounded memory, little-endian, and verifies them", async () => {
    const values = noise(400_000, 3);
    for (const compression of ["stored", "deflate"] as const) {
      const bytes = encodeNpz({ big: values }, { compression });
      const file = await openNpz(bytes);
      let largest = 0;
      const parts: Uint8Array[] = [];
      for await (const piece of file.chunks("big")) {
        largest = Math.max(largest, piece.length);
        parts.push(piece.slice());
      }
      expect(largest).toBeLessThanOrEqual(1 << 20);
      expect(sameBytes(concat(...parts), bytesOf(values.data))).toBe(true);
      const damaged = bytes.slice();
      damaged[bytes.length - 1000] = (damaged[bytes.length - 1000] ?? 0) ^ 1;
      await expectError(async () => gather((await openNpz(damaged)).chunks("big")), {
        code: "checksum-mismatch",
      });
    }
  });

  test("gives strings as chunks of code points, whatever their order", async () => {
    const points = [97, 0, 98, 99, 0x1f600, 0];
    const header = (descr: string, fortran: string): Uint8Array => {
      const text = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': (1, 3), }\n`;
      return concat(latin("\x93NUMPY\x01\x00"), fields([2, text.length]), latin(text));
    };
    const big = points.map((point): [number, number] => [4, swapped32(point)]);
    const little = points.map((point): [number, number] => [4, point]);
    const file = await openNpz(
      makeZip([
        { name: "big.npy", raw: concat(header(">U2", "False"), fields(...big)) },
        { name: "fortran.npy", raw: concat(header(">U2", "True"), fields(...big)) },
        { name: "little.npy", raw: concat(header("<U2", "True"), fields(...little)) },
      ]),
    );
    for (const name of file.names) {
      expect((await file.get(name)).data).toEqual(["a", "bc", "😀"]);
      expect(await gather(file.chunks(name))).toEqual(fields(...little));
    }
  });

  test("swaps big-endian chunks whole items at a time", async () => {
    const count = 150_000;
    const text = `{'descr': '>f8', 'fortran_order': False, 'shape': (${count},), }\n`;
    const data = new DataView(new ArrayBuffer(8 * count));
    for (let i = 0; i < count; i++) data.setFloat64(8 * i, i);
    const npy = concat(
      latin("\x93NUMPY\x01\x00"),
      fields([2, text.length]),
      latin(text),
      new Uint8Array(data.buffer),
    );
    const file = await openNpz(makeZip([{ name: "b.npy", raw: npy }]));
    const expected = bytesOf(Float64Array.from({ length: count }, (_, i) => i));
    expect(sameBytes(await gather(file.chunks("b")), expected)).toBe(true);
  });
});

describe("reads", () => {
  test("of a small archive are one", async () => {
    const source = recordingSource(encodeNpz(arrays));
    const file = await openNpz(source);
    await file.getAll();
    expect(source.reads).toEqual([[0, source.size]]);
  });

  test("of one member of a large archive are one, from its local header to the next member", async () => {
    for (const compression of ["stored", "deflate"] as const) {
      const bytes = encodeNpz(
        { a: noise(25_000, 1), b: noise(20_000, 2), c: noise(25_000, 3) },
        { compression },
      );
      const source = recordingSource(bytes);
      const file = await openNpz(source);
      expect(source.reads).toEqual([[bytes.length - 66560, 66560]]);
      source.reads.length = 0;
      const { data } = await file.get("b");
      const [at = 0, end = 0] = file.members.slice(1).map(({ offset }) => offset);
      expect(source.reads).toEqual([[at, end - at]]);
      expect(sameBytes(bytesOf(data), bytesOf(noise(20_000, 2).data))).toBe(true);
    }
  });

  test("of a stored member whose content lies elsewhere than expected give it all the same, aligned", async () => {
    const array = noise(20_000, 1);
    const raw = encodeNpy(array);
    const others = { name: "b.npy", raw: encodeNpy(noise(20_000, 2)) };
    const gap = new Uint8Array(5_000);
    const extra = (length: number): Uint8Array =>
      concat(fields([2, 0xd935], [2, length - 4]), new Uint8Array(length - 4));
    for (const member of [
      { after: gap },
      { localExtra: extra(20_000) },
      { localExtra: extra(36), after: gap },
    ]) {
      const source = recordingSource(makeZip([{ name: "a.npy", raw, ...member }, others]));
      const file = await openNpz(source);
      source.reads.length = 0;
      const { data } = await file.get("a");
      expect(sameBytes(bytesOf(data), bytesOf(array.data))).toBe(true);
      expect(source.reads.length).toBeLessThanOrEqual(2);
    }
    const bytes = makeZip([{ name: "a.npy", raw, localExtra: extra(7) }, others]);
    const { data } = await (await openNpz(bytes)).get("a");
    expect(bytesOf(data).byteOffset % 64).toBe(0);
    bytes.fill(0);
    expect(sameBytes(bytesOf(data), bytesOf(array.data))).toBe(true); // in memory of its own
  });

  test("of a member that cannot be read are of its local header only", async () => {
    const raw = encodeNpy(noise(50_000, 1));
    for (const [code, fault] of [
      ["unsupported", { method: 12 }],
      ["encrypted", { flags: 1 }],
      ["encrypted", { flags: 1, method: 8 }],
    ] as const) {
      const source = recordingSource(
        makeZip([
          { name: "a.npy", raw, ...fault },
          { name: "b.npy", raw },
        ]),
      );
      const file = await openNpz(source);
      source.reads.length = 0;
      for (const read of [() => file.get("a"), () => file.bytes("a.npy"), () => file.getAll(["a"])])
        await expectError(read, { code, names: ["a.npy"] });
      expect(Math.max(...source.reads.map(([, length]) => length))).toBeLessThan(1000);
    }
  });

  test("of memory that was transferred are refused in words", async () => {
    for (const count of [4, 100_000]) {
      const bytes = encodeNpz({ a: float32(new Array<number>(count).fill(1)) });
      const file = await openNpz(bytes);
      structuredClone(bytes, { transfer: [bytes.buffer] });
      for (const read of [
        () => file.get("a"),
        () => file.getAll(),
        () => file.bytes("a"),
        () => file.header("a"),
        () => gather(file.chunks("a")),
      ]) {
        await expectError(read, { code: "invalid-argument", names: ["transferred"] });
      }
    }
  });

  test("ahead stay within maxInflatedBytes", async () => {
    const members = Array.from({ length: 6 }, (_, i) => [`m${i}`, noise(25_000, i)] as const);
    const source = recordingSource(encodeNpz(members));
    const file = await openNpz(source, { maxInflatedBytes: 150_000 });
    source.reads.length = 0;
    await expectError(() => file.getAll(), { code: "limit-exceeded", names: ['"m1.npy"'] });
    expect(source.reads.map(([offset]) => offset)).toEqual([0]);
  });

  test("of the directory are one more where it is large", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 2000 }, (_, i) => [`member-number-${i}`, float32([i])]),
    );
    const source = recordingSource(encodeNpz(many));
    const file = await openNpz(source);
    expect(source.reads).toHaveLength(2);
    source.reads.length = 0;
    expect((await file.get("member-number-7")).data).toEqual(Float32Array.of(7));
    expect(source.reads).toHaveLength(1);
    source.reads.length = 0;
    expect((await file.getAll()).size).toBe(2000);
    expect(source.reads.length).toBeLessThan(4);
  });

  test("over HTTP are few requests besides those that open the source", async () => {
    const bytes = encodeNpz({ a: noise(30_000, 1), b: noise(20_000, 2), c: noise(30_000, 3) });
    const server = await startCaseServer(bytes);
    // The first, and in a page, where Content-Range is hidden, one that tells the size.
    const source = await httpSource(`${server.url}/ok`);
    const opening = (await server.requests()).length;
    expect(opening).toBeLessThanOrEqual(2);
    const file = await openNpz(source);
    expect(sameBytes(bytesOf((await file.get("b")).data), bytesOf(noise(20_000, 2).data))).toBe(
      true,
    );
    expect((await server.requests()).length - opening).toBeLessThanOrEqual(3);
    await file.close();
    await server.close();
  });

  test("find an end record behind the longest comment", async () => {
    const source = recordingSource(
      makeZip([npyMember("a.npy")], { comment: new Uint8Array(65_535) }),
    );
    expect((await openNpz(source)).names).toEqual(["a"]);
    expect(source.reads).toHaveLength(1);
  });
});

describe("entries", () => {
  const many = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`t${i}`, noise(i % 8 === 0 ? 20_000 : 10, i)]),
  );

  test("come in the archive's order, with progress up to the total", async () => {
    for (const compression of ["stored", "deflate"] as const) {
      const file = await openNpz(new Blob([encodeNpz(many, { compression })]));
      const seen: Progress[] = [];
      const names: string[] = [];
      for await (const [name, array] of file.entries(["t9", "t8", "t0"], {
        onProgress: (p) => seen.push(p),
        concurrency: 2,
      })) {
        names.push(name);
        expect(sameBytes(bytesOf(array.data), bytesOf(many[name]?.data))).toBe(true);
      }
      expect(names).toEqual(["t0", "t8", "t9"]);
      expect(seen.map(({ name }) => name)).toEqual(names);
      expect(seen.at(-1)?.loaded).toBe(seen[0]?.total);
      expect((await file.getAll()).size).toBe(40);
    }
  });

  test("run as many reads at once as asked for", async () => {
    const inner = bytesSource(encodeNpz(many));
    for (const concurrency of [1, 3]) {
      let running = 0;
      let most = 0;
      const source: ByteSource = {
        size: inner.size,
        async read(...args) {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setTimeout(resolve, 0));
          running--;
          return inner.read(...args);
        },
      };
      const file = await openNpz(source);
      const all = await file.getAll(undefined, { concurrency });
      expect([...all.keys()]).toEqual(Object.keys(many));
      expect(most).toBe(concurrency);
    }
    const file = await openNpz(inner);
    for (const concurrency of [0, 1.5, Number.NaN]) {
      await expectError(() => file.getAll(undefined, { concurrency }), {
        code: "invalid-argument",
      });
    }
    await expectError(() => file.getAll("t1"), { code: "invalid-argument", names: ["names"] });
  });

  test("stop with the signal's reason, at once and everywhere", async () => {
    const bytes = encodeNpz(many);
    const hanging: ByteSource = {
      size: bytes.length,
      read(offset, length, { signal } = {}) {
        if (offset + length === bytes.length) return Promise.resolve(bytes.subarray(offset));
        return new Promise((_, reject) =>
          signal?.addEventListener("abort", () => reject(signal.reason)),
        );
      },
    };
    const file = await openNpz(hanging);
    const reason = new Error("enough");
    const calls: ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => file.get("t0", { signal }),
      (signal) => file.getAll(undefined, { signal }),
      (signal) => file.bytes("t0", { signal }),
      (signal) => file.header("t0", { signal }),
      (signal) => gather(file.chunks("t0", { signal })),
    ];
    for (const call of calls) {
      const controller = new AbortController();
      const running = call(controller.signal);
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
      const opened = await openNpz(bytes);
      await expect(opened.get("t0", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    }
  });
});

describe("sources", () => {
  test("are closed by close, and by a failing open only where a promise was given", async () => {
    const good = recordingSource(encodeNpz(arrays));
    const file = await openNpz(Promise.resolve(good));
    expect(good.closed).toBe(0);
    await file.close();
    expect(good.closed).toBe(1);
    const bad = recordingSource(latin("no archive"));
    await expectError(() => openNpz(bad), { code: "not-this-format" });
    expect(bad.closed).toBe(0);
    await expectError(() => openNpz(Promise.resolve(bad)), { code: "not-this-format" });
    expect(bad.closed).toBe(1);
    const unread = recordingSource(encodeNpz(arrays));
    await expectError(() => openNpz(Promise.resolve(unread), { maxInflatedBytes: -1 }), {
      code: "invalid-argument",
    });
    expect(unread.closed).toBe(1);
    expect(unread.reads).toEqual([]);
  });

  test("that fail do so with their own error", async () => {
    const bytes = encodeNpz(
      { a: noise(25_000, 1), b: noise(25_000, 2) },
      { compression: "deflate" },
    );
    const inner = bytesSource(bytes);
    const reason = new Error("the cable was pulled");
    const source: ByteSource = {
      size: bytes.length,
      read: (offset, length, options) =>
        offset < 90_000 && length > 5000
          ? Promise.reject(reason)
          : inner.read(offset, length, options),
    };
    const file = await openNpz(source);
    await expect(file.get("a")).rejects.toBe(reason);
    await expect(gather(file.chunks("a"))).rejects.toBe(reason);
    expect((await file.get("b")).shape).toEqual([100_000]);
  });

  test("that are none are refused", async () => {
    await expectError(() => openNpz("weights.npz" as never), {
      code: "invalid-argument",
      names: ["fileSource"],
    });
    await expectError(() => decodeNpz(undefined as never), { code: "invalid-argument" });
  });
});

function swapped32(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value);
  return view.getUint32(0, true);
}

function swapped(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getUint32(0, true);
}

/** Equality of bytes, told faster than `toEqual` does. */
function bytesOf(data: unknown): Uint8Array {
  if (!ArrayBuffer.isView(data)) throw new Error("no typed array");
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
