import type { Chunks, Progress, Sink } from "@tensorjar/core";
import { toSink, writeChunks } from "@tensorjar/core/codec";
import { describe, expect, test } from "vitest";
import { expectError, isUsual, unusualBuffers } from "../../../tooling/testing.js";
import { deferred, turns } from "./deferred.js";

function chunksOf(...parts: Uint8Array<ArrayBuffer>[]): Chunks & { readonly left: () => boolean } {
  let left = false;
  return {
    byteLength: parts.reduce((sum, part) => sum + part.length, 0),
    left: () => left,
    chunks: (async function* () {
      try {
        yield* parts;
      } finally {
        left = true;
      }
    })(),
  };
}

const [one, two] = [Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5)];

/** A sink that writes down what is done to it; `on` may fail or wait. */
function recordingSink(on: (call: string) => unknown = () => {}): Sink & { calls: string[] } {
  const calls: string[] = [];
  const record = (call: string): unknown => {
    calls.push(call);
    return on(call);
  };
  return {
    calls,
    write: (chunk) => record(`write ${chunk.join(" ")}`),
    close: () => record("close"),
    abort: (reason) => record(`abort ${reason}`),
  };
}

describe("writeChunks", () => {
  test("writes each chunk, closes, and tells how far it is", async () => {
    const sink = recordingSink();
    const seen: Progress[] = [];
    await writeChunks(sink, chunksOf(one, new Uint8Array(0), two), {
      name: "w",
      onProgress: (progress) => void seen.push(progress),
    });
    expect(sink.calls).toEqual(["write 1 2 3", "write 4 5", "close"]);
    expect(seen).toEqual([
      { loaded: 3, total: 5, name: "w" },
      { loaded: 5, total: 5, name: "w" },
    ]);
  });

  test("takes chunks that only hold until the next for a sink that is done with each, and for no other", async () => {
    for (const transient of [true, undefined] as const) {
      const sink = { ...recordingSink(), transient };
      await writeChunks(sink, { ...chunksOf(one), transient: chunksOf(two).chunks });
      expect(sink.calls).toEqual([transient ? "write 4 5" : "write 1 2 3", "close"]);
    }
    const sink = { ...recordingSink(), transient: true } as const;
    await writeChunks(sink, chunksOf(one));
    expect(sink.calls).toEqual(["write 1 2 3", "close"]);
  });

  test("waits for one write before it pulls the next chunk", async () => {
    const write = deferred<void>();
    let pulled = 0;
    const chunks = {
      byteLength: 2,
      chunks: (async function* () {
        for (let i = 0; i < 2; i++) {
          pulled++;
          yield Uint8Array.of(i);
        }
      })(),
    };
    const sink = recordingSink((call) => (call === "write 0" ? write.promise : undefined));
    const writing = writeChunks(sink, chunks);
    await turns();
    expect([pulled, sink.calls]).toEqual([1, ["write 0"]]);
    write.resolve();
    await writing;
    expect(sink.calls).toEqual(["write 0", "write 1", "close"]);
  });

  test("gives no sink more than 64 MiB at once", async () => {
    const large = new Uint8Array((64 << 20) + 5);
    large.set([7], 64 << 20);
    const lengths: number[] = [];
    let last: Uint8Array | undefined;
    const sink: Sink = {
      write(chunk) {
        lengths.push(chunk.length);
        last = chunk;
      },
      close() {},
    };
    await writeChunks(sink, chunksOf(large));
    expect(lengths).toEqual([64 << 20, 5]);
    expect(last?.[0]).toBe(7);
  });

  test.each(["write 4 5", "close"])(
    "a failing %s aborts the sink once and is the error",
    async (failing) => {
      const failure = new Error("disk");
      const sink = recordingSink((call) => {
        if (call === failing) throw failure;
        if (call.startsWith("abort")) throw new Error("cannot even abort");
      });
      const chunks = chunksOf(one, two);
      await expect(writeChunks(sink, chunks)).rejects.toBe(failure);
      expect(sink.calls.filter((call) => call.startsWith("abort"))).toEqual(["abort Error: disk"]);
      expect(sink.calls.at(-1)).toBe("abort Error: disk");
      expect(chunks.left()).toBe(true);
    },
  );

  test("failing chunks, and chunks that are no bytes, abort the sink", async () => {
    const failure = new Error("source");
    const sink = recordingSink();
    const bad = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      yield one;
      throw failure;
    };
    await expect(writeChunks(sink, { byteLength: 9, chunks: bad() })).rejects.toBe(failure);
    expect(sink.calls).toEqual(["write 1 2 3", "abort Error: source"]);
    // @ts-expect-error: not bytes
    await expectError(() => writeChunks(recordingSink(), chunksOf("text")), {
      code: "invalid-argument",
    });
  });

  test("a failure waits until the sink has undone what it did", async () => {
    const undone = deferred<void>();
    const sink = recordingSink((call) => {
      if (call.startsWith("write")) throw new Error("disk");
      return undone.promise;
    });
    let settled = false;
    const writing = writeChunks(sink, chunksOf(one)).catch(() => {
      settled = true;
    });
    await turns();
    expect(settled).toBe(false);
    undone.resolve();
    await writing;
    expect(settled).toBe(true);
  });
});

describe("aborting", () => {
  const reason = new Error("enough");

  test.each(["write 1 2 3", "close"])(
    "during %s rejects at once, aborts the sink, starts nothing",
    async (held) => {
      const controller = new AbortController();
      const never = deferred<void>();
      const sink = recordingSink((call) => (call === held ? never.promise : undefined));
      const chunks = chunksOf(one);
      const writing = writeChunks(sink, chunks, { signal: controller.signal });
      await turns();
      expect(sink.calls.at(-1)).toBe(held);
      controller.abort(reason);
      await expect(writing).rejects.toBe(reason);
      expect(sink.calls.slice(sink.calls.indexOf(held) + 1)).toEqual(["abort Error: enough"]);
      never.resolve();
      await turns();
      expect(sink.calls.at(-1)).toBe("abort Error: enough");
      expect(chunks.left()).toBe(true);
    },
  );

  test("while a chunk is being made rejects at once and drops the chunk", async () => {
    const controller = new AbortController();
    const made = deferred<Uint8Array<ArrayBuffer>>();
    let left = false;
    const chunks = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      try {
        yield await made.promise;
      } finally {
        left = true;
      }
    };
    const sink = recordingSink();
    const writing = writeChunks(
      sink,
      { byteLength: 3, chunks: chunks() },
      { signal: controller.signal },
    );
    await turns();
    controller.abort(reason);
    await expect(writing).rejects.toBe(reason);
    made.resolve(one);
    await turns();
    expect(sink.calls).toEqual(["abort Error: enough"]);
    expect(left).toBe(true);
  });

  test("before the start writes nothing, and lets go of the sink", async () => {
    const sink = recordingSink();
    const signal = AbortSignal.abort(reason);
    await expect(writeChunks(sink, chunksOf(one), { signal })).rejects.toBe(reason);
    expect(sink.calls).toEqual(["abort Error: enough"]);
  });

  test("does not wait for a sink that cannot abort, or that takes its time to", async () => {
    const controller = new AbortController();
    const never = deferred<void>();
    const writing = writeChunks(
      { write: () => never.promise, close() {}, abort: () => never.promise },
      chunksOf(one),
      { signal: controller.signal },
    );
    await turns();
    controller.abort(reason);
    await expect(writing).rejects.toBe(reason);
  });

  test("leaves no listener behind on a signal that is used again and again", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(signal, args);
    };
    await writeChunks(recordingSink(), chunksOf(one, two), { signal });
    await turns();
    expect(listeners).toBe(0);
  });
});

describe("a WritableStream", () => {
  function recordingStream(on: (call: string) => unknown = () => {}): {
    stream: WritableStream<Uint8Array>;
    calls: string[];
  } {
    const { calls, write, close, abort } = recordingSink(on);
    const stream = new WritableStream<Uint8Array>({
      write: async (chunk) => void (await write(chunk)),
      close: async () => void (await close()),
      abort: async (reason) => void (await abort?.(reason)),
    });
    return { stream, calls };
  }

  test("is written with its back-pressure, closed and unlocked", async () => {
    const write = deferred<unknown>();
    const { stream, calls } = recordingStream((call) =>
      call === "write 1 2 3" ? write.promise : undefined,
    );
    const writing = writeChunks(stream, chunksOf(one, two));
    await turns();
    expect(calls).toEqual(["write 1 2 3"]);
    write.resolve(undefined);
    await writing;
    expect(calls).toEqual(["write 1 2 3", "write 4 5", "close"]);
    expect(stream.locked).toBe(false);
  });

  test("that fails gives its own error; one that is aborted is told so", async () => {
    const failure = new Error("disk");
    const { stream } = recordingStream((call) => {
      if (call === "write 4 5") throw failure;
    });
    await expect(writeChunks(stream, chunksOf(one, two, one))).rejects.toBe(failure);
    expect(stream.locked).toBe(false);

    const reason = new Error("enough");
    const controller = new AbortController();
    const never = deferred<unknown>();
    const held = recordingStream((call) => (call === "write 1 2 3" ? never.promise : undefined));
    const writing = writeChunks(held.stream, chunksOf(one, two), { signal: controller.signal });
    await turns();
    controller.abort(reason);
    await expect(writing).rejects.toBe(reason);
    never.resolve(undefined);
    await turns();
    expect(held.calls).toEqual(["write 1 2 3", "abort Error: enough"]);
  });

  test("is given no memory that is shared or can change its size, which most streams refuse", async () => {
    for (const buffer of unusualBuffers(1000)) {
      const given: Uint8Array[] = [];
      const stream = new WritableStream<Uint8Array>({ write: (chunk) => void given.push(chunk) });
      const sink = toSink(stream);
      await sink.write(new Uint8Array(buffer).fill(7));
      await sink.close();
      expect(given).toEqual([new Uint8Array(1000).fill(7)]);
      expect(given.every(isUsual)).toBe(true);
    }
  });

  test("that somebody else has locked is refused; that writer itself is a sink", async () => {
    const { stream, calls } = recordingStream();
    const writer = stream.getWriter();
    await expectError(() => writeChunks(stream, chunksOf(one)), {
      code: "invalid-argument",
      names: ["locked"],
    });
    await writeChunks(writer, chunksOf(one));
    expect(calls).toEqual(["write 1 2 3", "close"]);
  });
});

test("what may write short, and what is no sink, is refused with the way out", () => {
  const methods = { write() {}, close() {} };
  const wrong: unknown[] = [
    { ...methods, fd: 3 },
    { ...methods, truncate() {} },
    { ...methods, bytesWritten: 0, pipe() {}, writable: true }, // fs.WriteStream
    { ...methods, truncate() {}, writable: new WritableStream() }, // Deno.FsFile
    { ...methods, writable: new WritableStream() }, // Deno.Conn, Deno.stdout
    { ...methods, truncate() {}, getSize() {} }, // FileSystemSyncAccessHandle
    { write() {} },
    "out.npy",
    null,
    undefined,
    [],
  ];
  for (const given of wrong) {
    // @ts-expect-error: not sinks
    expect(() => toSink(given)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  }
  // @ts-expect-error: a FileHandle
  expect(() => toSink(wrong[0])).toThrow(/fileSink/);
});
