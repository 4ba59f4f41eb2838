import { type Sink, type Tensor, tensor } from "@tensorjar/core";
import { describe, expect, it } from "vitest";
import { collect, concat, expectError, sameBytes } from "../../../tooling/testing.js";
import { encodeSafetensors, safetensorsChunks, writeSafetensors } from "../src/index.js";

const large = 9 << 20;

/** A sink that gives the memory of every chunk away, as `postMessage` with a list of transfers does. */
function transferringSink(): Sink & { readonly ends: string[] } {
  const ends: string[] = [];
  return {
    ends,
    write({ buffer }) {
      if (buffer instanceof ArrayBuffer) structuredClone(buffer, { transfer: [buffer] });
    },
    close: () => void ends.push("closed"),
    abort: () => void ends.push("aborted"),
  };
}

describe("memory that is transferred while a file is written", () => {
  const sources: [string, (w: Tensor<"uint8">) => Parameters<typeof writeSafetensors>[1]][] = [
    ["a tensor", (w) => ({ w })],
    ["a producer's tensor", (w) => [{ name: "w", ...w, data: () => w }]],
    [
      "a producer's piece",
      (w) => [
        {
          name: "w",
          ...w,
          async *data() {
            yield w.data;
          },
        },
      ],
    ],
  ];
  for (const [what, entries] of sources) {
    it(`is told of ${what}: no file is saved that ends early`, async () => {
      const sink = transferringSink();
      await expectError(() => writeSafetensors(sink, entries(tensor(new Uint8Array(large)))), {
        code: "invalid-argument",
        names: ['tensor "w"', "size"],
      });
      expect(sink.ends).toEqual(["aborted"]);
    });
  }
});

it("a sink that is done with each chunk may give it away as well", async () => {
  const of = (length: number): Tensor<"uint8"> => tensor(new Uint8Array(length).fill(length));
  const tensors = { a: of(200_000), b: of(100_000), c: of(0), d: of(300_000), e: of(0), f: of(5) };
  const taken: Uint8Array[] = [];
  const write = (chunk: Uint8Array): void => {
    const { buffer } = chunk;
    const transfer = buffer instanceof ArrayBuffer ? [buffer] : [];
    taken.push(structuredClone(chunk, { transfer }));
  };
  const file = encodeSafetensors(tensors);
  await writeSafetensors({ transient: true, write, close() {} }, tensors);
  expect(sameBytes(concat(...taken), file)).toBe(true);
});

it("a tensor that is transferred while what is before it is used is told by name", async () => {
  const w = new Uint8Array(large);
  const { chunks } = safetensorsChunks({ a: tensor(new Uint8Array(10)), w: tensor(w) });
  const written = chunks[Symbol.asyncIterator]();
  await written.next(); // the header
  expect((await written.next()).value).toHaveLength(10);
  structuredClone(w.buffer, { transfer: [w.buffer] });
  await expectError(() => written.next(), {
    code: "invalid-argument",
    names: ['tensor "w"', "size"],
  });
});

it("chunks that are iterated again, and those given before, are the same file", async () => {
  const tensors = { a: tensor(Float32Array.of(1, 2)), b: tensor(new Uint8Array(300_000).fill(3)) };
  const { chunks } = safetensorsChunks(tensors, { aliases: "copy" });
  const [first] = await collect(chunks);
  first?.fill(0);
  expect(concat(...(await collect(chunks)))).toEqual(encodeSafetensors(tensors));
});

it("chunks that hold only until the next are the same file, iterated twice at once", async () => {
  const small = Array.from({ length: 50 }, (_, i) => [`${i}`, tensor(new Uint8Array(2e4).fill(i))]);
  const tensors: Record<string, Tensor> = Object.fromEntries(small);
  const { transient } = safetensorsChunks(tensors);
  const two = [1, 2].map(() => ({
    chunks: transient?.[Symbol.asyncIterator](),
    copies: [new Uint8Array()],
  }));
  for (let open = true; open; ) {
    for (const { chunks, copies } of two) {
      const next = await chunks?.next();
      if (next?.done === false) copies.push(next.value.slice());
      else open = false;
    }
  }
  for (const { copies } of two) {
    expect(sameBytes(concat(...copies), encodeSafetensors(tensors))).toBe(true);
  }
});
