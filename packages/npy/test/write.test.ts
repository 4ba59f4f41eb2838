import { describe, expect, test } from "vitest";
import { collect, concat, expectError, isUsual, unusualBuffers } from "../../../tooling/testing.js";
import {
  createNpyWriter,
  decodeNpy,
  encodeNpy,
  npyChunks,
  type TensorOf,
  tensor,
  writeNpy,
} from "../src/index.js";

/** A sink in memory that can rewrite, and fails at its `failAt`th call. */
function memorySink({ rewrites = true, failAt = Number.POSITIVE_INFINITY } = {}) {
  let calls = 0;
  const state = { bytes: new Uint8Array(), closed: 0, aborted: [] as unknown[] };
  const call = () => {
    if (++calls === failAt) throw new Error("disk full");
  };
  const sink = {
    async write(chunk: Uint8Array) {
      call();
      state.bytes = new Uint8Array([...state.bytes, ...chunk]);
    },
    async close() {
      call();
      state.closed++;
    },
    async abort(reason: unknown) {
      state.aborted.push(reason);
    },
    ...(rewrites && {
      async rewrite(offset: number, chunk: Uint8Array) {
        call();
        state.bytes.set(chunk, offset);
      },
    }),
  };
  return { sink, state };
}

const rows = (count: number, first = 0): TensorOf<"int16"> =>
  tensor(
    Int16Array.from({ length: count * 3 }, (_, at) => first * 3 + at),
    [count, 3],
  );

describe("writing an array", () => {
  test("refuses memory that is transferred before it is taken", async () => {
    const data = new Float32Array(1000);
    const chunks = npyChunks(tensor(data)).chunks[Symbol.asyncIterator]();
    await chunks.next();
    structuredClone(data, { transfer: [data.buffer] });
    await expectError(() => chunks.next(), { code: "invalid-argument", names: ["transferred"] });
  });

  test("pulls its bytes in chunks", async () => {
    const array = rows(2);
    const { byteLength, chunks } = npyChunks(array);
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    expect(parts.map(({ length }) => length)).toEqual([128, 12]);
    expect(byteLength).toBe(140);
    expect(parts[1]?.buffer).toBe(array.data.buffer);
  });

  test("gives all of its chunks again to whoever iterates again", async () => {
    const { chunks } = npyChunks(rows(2));
    const [header] = await collect(chunks);
    header?.fill(0);
    expect(concat(...(await collect(chunks)))).toEqual(encodeNpy(rows(2)));
  });

  test("memory that is shared or can change its size is copied, so that chunks go anywhere", async () => {
    for (const buffer of unusualBuffers(3)) {
      const data = new Int8Array(buffer).fill(5);
      const parts = await collect(npyChunks(tensor(data)).chunks);
      expect(parts.every(isUsual)).toBe(true);
      expect(new Uint8Array(await new Blob(parts).arrayBuffer())).toEqual(encodeNpy(tensor(data)));
    }
  });

  test("gives the sink what encodeNpy gives", async () => {
    const { sink, state } = memorySink();
    await writeNpy(sink, rows(4));
    expect(state).toMatchObject({ bytes: encodeNpy(rows(4)), closed: 1, aborted: [] });
  });

  test("fills a WritableStream", async () => {
    const chunks: Uint8Array[] = [];
    const stream = new WritableStream<Uint8Array>({ write: (chunk) => void chunks.push(chunk) });
    await writeNpy(stream, rows(1));
    expect(chunks.flatMap((chunk) => [...chunk])).toEqual([...encodeNpy(rows(1))]);
  });

  test("what cannot be written leaves the sink alone", async () => {
    const { sink, state } = memorySink();
    const bits = tensor(new Uint16Array(1), [1], "bfloat16");
    await expectError(() => writeNpy(sink, bits), { code: "unsupported" });
    expect(state).toMatchObject({ closed: 0, aborted: [], bytes: new Uint8Array() });
  });
});

describe("appending rows", () => {
  test("sets the first axis at the end", async () => {
    const { sink, state } = memorySink();
    const writer = createNpyWriter(sink, { dtype: "int16", rowShape: [3] });
    await writer.append(rows(2));
    await writer.append(rows(9, 2));
    await writer.close();
    expect(state.bytes).toEqual(encodeNpy(rows(11)));
    expect(state.closed).toBe(1);
  });

  test("a number of rows that is known needs no rewriting", async () => {
    const { sink, state } = memorySink({ rewrites: false });
    const writer = createNpyWriter(sink, { dtype: "int16", rowShape: [3], rows: 3 });
    await writer.append(rows(1));
    await writer.append(rows(2, 1));
    await writer.close();
    expect(decodeNpy(state.bytes)).toEqual(rows(3));
  });

  test("no rows give an empty array", async () => {
    const { sink, state } = memorySink();
    await createNpyWriter(sink, { dtype: "float32", rowShape: [2, 2] }).close();
    expect(state.bytes).toEqual(encodeNpy(tensor(new Float32Array(), [0, 2, 2])));
  });

  test("calls that overlap take effect in their order", async () => {
    const { sink, state } = memorySink();
    const writer = createNpyWriter(sink, { dtype: "int16", rowShape: [3] });
    const done = [writer.append(rows(1)), writer.append(rows(1, 1)), writer.close()];
    await Promise.all(done);
    expect(decodeNpy(state.bytes)).toEqual(rows(2));
  });

  test("a sink that cannot rewrite must know the number of rows, and is left alone", async () => {
    const { sink } = memorySink({ rewrites: false });
    const options = { dtype: "int16", rowShape: [3] } as const;
    await expectError(() => createNpyWriter(sink, options), {
      code: "invalid-argument",
      names: ["rows"],
    });
    const stream = new WritableStream<Uint8Array>();
    await expectError(() => createNpyWriter(stream, options), { code: "invalid-argument" });
    expect(stream.locked).toBe(false);
  });

  test.each([
    ["another dtype", tensor(new Int8Array(3), [1, 3]), "invalid-dtype"],
    ["another row shape", tensor(new Int16Array(4), [1, 4]), "invalid-shape"],
    ["a row without the first axis", tensor(new Int16Array(3)), "invalid-shape"],
    ["a scalar", tensor(new Int16Array(1), []), "invalid-shape"],
    ["more rows than were said", rows(5), "invalid-argument"],
    ["no tensor", undefined, "invalid-argument"],
  ] as const)("%s gives the file up", async (_, given, code) => {
    const { sink, state } = memorySink();
    const writer = createNpyWriter(sink, { dtype: "int16", rowShape: [3], rows: 4 });
    // @ts-expect-error some are not rows of this file
    const error = await expectError(() => writer.append(given), { code });
    expect(state.aborted).toEqual([error]);
    await expect(writer.append(rows(1))).rejects.toBe(error);
    await expect(writer.close()).rejects.toBe(error);
    expect(state.closed).toBe(0);
  });

  test("fewer rows than were said give the file up", async () => {
    const { sink, state } = memorySink();
    const writer = createNpyWriter(sink, { dtype: "int16", rowShape: [3], rows: 4 });
    await writer.append(rows(1));
    const error = await expectError(() => writer.close(), {
      code: "invalid-argument",
      names: ["1 of 4"],
    });
    expect(state).toMatchObject({ closed: 0, aborted: [error] });
  });

  test("a sink that fails at any call is aborted once with its reason", async () => {
    for (let failAt = 1; failAt <= 4; failAt++) {
      const { sink, state } = memorySink({ failAt });
      const writer = createNpyWriter(sink, { dtype: "int16", rowShape: [3] });
      const write = async () => {
        await writer.append(rows(1));
        await writer.close();
      };
      await expect(write()).rejects.toThrow("disk full");
      await writer.abort();
      expect(state.aborted).toEqual([new Error("disk full")]);
      expect(state.closed).toBe(0);
    }
  });

  test("a file that was closed or given up takes no more", async () => {
    const { sink, state } = memorySink();
    const writer = createNpyWriter(sink, { dtype: "int16", rowShape: [3] });
    await writer.close();
    await expectError(() => writer.append(rows(1)), { code: "invalid-argument" });
    await writer.abort("late");
    expect(state.aborted).toEqual([]);
    const other = memorySink();
    const given = createNpyWriter(other.sink, { dtype: "int16", rowShape: [3] });
    await given.abort("enough");
    await expect(given.append(rows(1))).rejects.toBe("enough");
    expect(other.state.aborted).toEqual(["enough"]);
  });

  test("what is no sink is refused", async () => {
    for (const sink of ["a path", null, {}]) {
      // @ts-expect-error none of them is a sink
      await expectError(() => createNpyWriter(sink, { dtype: "int8", rowShape: [] }), {
        code: "invalid-argument",
      });
    }
  });

  test.each([
    [{ dtype: "bfloat16", rowShape: [] }, "unsupported"],
    [{ dtype: "int8", rowShape: [-1] }, "invalid-shape"],
    [{ dtype: "int8", rowShape: [2], rows: 0.5 }, "invalid-shape"],
  ] as const)("%j cannot be started", async (options, code) => {
    await expectError(() => createNpyWriter(memorySink().sink, options), { code });
  });
});
