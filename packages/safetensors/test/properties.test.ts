import { type DType, isTensorjarError, type Tensor } from "@tensorjar/core";
import { dataConstructor, tensorBytes, tensorFromBytes } from "@tensorjar/core/codec";
import fc from "fast-check";
import { expect, it } from "vitest";
import { collect, concat, everyDType, mutate, random } from "../../../tooling/testing.js";
import { headerName } from "../src/dtype-names.js";
import {
  decodeSafetensors,
  encodeSafetensors,
  openSafetensors,
  parseSafetensorsHeader,
  sliceByteRanges,
} from "../src/index.js";
import { entry, fileOf } from "./files.js";

const dtypes = everyDType.filter((dtype) => dtype !== "complex128"); // the format has no name for it

const name = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }).filter((text) => !/\p{Surrogate}/u.test(text)),
  fc.constantFrom("__proto__", "0", "10", "2", "\\", '"', "\u2028", "😀", "～"),
);

const tensors = fc.uniqueArray(
  fc.tuple(name, fc.constantFrom(...dtypes), fc.array(fc.nat(3), { maxLength: 3 }), fc.nat(255)),
  { selector: ([text]) => text, maxLength: 8 },
);

function make(dtype: DType, shape: readonly number[], fill: number): Tensor {
  const bits = dtype.startsWith("float4_") ? 4 : dtype.startsWith("float6_") ? 6 : undefined;
  const whole = bits === undefined ? shape : [...shape, 4];
  const count = whole.reduce((product, dim) => product * dim, 1);
  const Data = dataConstructor(dtype);
  const size =
    bits === undefined ? Data.BYTES_PER_ELEMENT * (dtype.startsWith("complex") ? 2 : 1) : bits / 8;
  const bytes = Uint8Array.from({ length: count * size }, (_, i) => (i * 7 + fill) & 255);
  return tensorFromBytes(dtype, whole, bytes) as Tensor;
}

/** Everything a file says, in a form that compares. */
function content(bytes: Uint8Array): unknown {
  const decoded = decodeSafetensors(bytes);
  return [
    [...decoded.tensors].map(([key, { dtype, shape, data }]) => [
      key,
      dtype,
      shape,
      [...tensorBytes({ data })],
    ]),
    [...decoded.metadata],
  ];
}

it("what is encoded is decoded: names, dtypes, shapes, bits and metadata", async () => {
  await fc.assert(
    fc.asyncProperty(tensors, fc.dictionary(name, name), async (list, metadata) => {
      const given = new Map(
        list.map(([key, dtype, shape, fill]) => [key, make(dtype, shape, fill)]),
      );
      if (given.has("__metadata__")) return;
      const file = encodeSafetensors(given, { metadata: Object.entries(metadata) });
      const decoded = decodeSafetensors(file);
      expect([...decoded.metadata].sort()).toEqual(Object.entries(metadata).sort());
      expect(decoded.tensors.size).toBe(given.size);
      for (const [key, one] of decoded.tensors) expect(one).toEqual(given.get(key));
      const open = await openSafetensors(file);
      expect(await open.getAll()).toEqual(decoded.tensors);
      expect(
        encodeSafetensors(decoded.tensors, { metadata: decoded.metadata, aliases: "copy" }),
      ).toEqual(file);
    }),
    { numRuns: 200 },
  );
});

it("the order of the header does not count", () => {
  fc.assert(
    fc.property(tensors, fc.infiniteStream(fc.nat()), (list, numbers) => {
      const given = list.map(([key, dtype, shape, fill]): [string, Tensor] => [
        key,
        make(dtype, shape, fill),
      ]);
      let at = 0;
      const entries = given.map(([key, { dtype, shape, data }]) => {
        const begin = at;
        at += data.byteLength;
        return entry(key, headerName(dtype) ?? "", shape, begin, at);
      });
      const shuffled = entries
        .map((text) => [numbers.next().value, text] as const)
        .sort(([a], [b]) => a - b);
      const data = concat(...given.map(([, { data }]) => tensorBytes({ data })));
      const file = fileOf(`{${shuffled.map(([, text]) => text)}}`, data);
      const bySize = decodeSafetensors(file).tensors;
      expect(new Map(bySize)).toEqual(new Map(given));
      const withBytes = (pairs: Iterable<[string, Tensor]>) =>
        [...pairs].filter(([, { data }]) => data.length > 0).map(([key]) => key);
      expect(withBytes(bySize)).toEqual(withBytes(given));
    }),
  );
});

it("a slice is what indexing gives", () => {
  const part = (dim: number) =>
    fc.oneof(
      fc.constant(null),
      fc.integer({ min: -dim, max: dim - 1 }).filter(() => dim > 0),
      fc.record(
        {
          start: fc.integer({ min: -6, max: 6 }),
          stop: fc.integer({ min: -6, max: 6 }),
          step: fc.integer({ min: 1, max: 3 }),
        },
        { requiredKeys: [] },
      ),
    );
  const selected = fc
    .array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 })
    .chain((shape) => fc.tuple(fc.constant(shape), fc.tuple(...shape.map(part)), fc.nat(4)));
  fc.assert(
    fc.property(selected, ([shape, all, length]) => {
      const selection = all.slice(0, length);
      const kept = shape.map((dim, axis) => {
        const one = selection[axis] ?? null;
        const indices = Array.from({ length: dim }, (_, i) => i);
        if (one === null) return indices;
        if (typeof one === "number") return [indices.at(one) ?? -1];
        return indices.slice(one.start, one.stop).filter((_, i) => i % (one.step ?? 1) === 0);
      });
      let offsets = [0];
      kept.forEach((indices, axis) => {
        offsets = offsets.flatMap((offset) => indices.map((i) => offset * (shape[axis] ?? 0) + i));
      });
      const { ranges, shape: result } = sliceByteRanges("int16", shape, selection);
      const read = ranges.flatMap(([begin, end]) =>
        Array.from({ length: (end - begin) / 2 }, (_, i) => begin / 2 + i),
      );
      expect(read).toEqual(offsets);
      expect(result).toEqual(
        kept.filter((_, axis) => typeof selection[axis] !== "number").map(({ length }) => length),
      );
      for (let i = 1; i < ranges.length; i++)
        expect(ranges[i]?.[0]).toBeGreaterThan(ranges[i - 1]?.[1] ?? -1);
    }),
    { numRuns: 500 },
  );
});

const samples = [
  encodeSafetensors(
    { a: make("float32", [2], 1), b: make("uint8", [3], 2) },
    { metadata: { k: "é" } },
  ),
  fileOf(
    `{"w":{"shape":[2,1],"x":[null,{"y":-1e5}],"dtype":"F4","data_offsets":[0,1]},"\\u0065":{"dtype":"I8","shape":[],"data_offsets":[1,2]}}`,
    2,
  ),
  encodeSafetensors({}),
];

/** A TensorjarError, or content; never another error. */
function outcome(bytes: Uint8Array): unknown {
  try {
    return content(bytes);
  } catch (error) {
    if (!isTensorjarError(error)) throw new Error(`on bytes ${bytes}`, { cause: error });
    return error.code;
  }
}

it("every truncation is refused", () => {
  for (const sample of samples) {
    for (let length = 0; length < sample.length; length++)
      expect(typeof outcome(sample.subarray(0, length))).toBe("string");
  }
});

it("every change of one byte is refused or gives a file that says what it holds", async () => {
  for (const sample of samples) {
    for (let at = 0; at < sample.length; at++) {
      for (const value of [
        0,
        1,
        0x20,
        0x22,
        0x2c,
        0x30,
        0x31,
        0x5c,
        0x7b,
        0x7d,
        0x80,
        0xff,
        (sample[at] ?? 0) ^ 1,
        (sample[at] ?? 0) ^ 0x20,
      ]) {
        const changed = sample.slice();
        changed[at] = value;
        const result = outcome(changed);
        if (typeof result === "string") continue;
        const { tensors, metadata } = decodeSafetensors(changed);
        expect(content(encodeSafetensors(tensors, { metadata }))).toHaveLength(2);
        expect(parseSafetensorsHeader(changed).size).toBe(changed.length);
      }
    }
  }
});

it("thousands of damaged files give TensorjarErrors or content, the same from bytes and from a source", async () => {
  const rng = random(20260101);
  for (let i = 0; i < 3000; i++) {
    const bytes = mutate(rng.pick(samples), rng);
    const result = outcome(bytes);
    const opened = await openSafetensors(bytes)
      .then(async (file) => new Map(await collect(file.entries())))
      .catch((error) => (isTensorjarError(error) ? error.code : Promise.reject(error)));
    if (typeof result === "string") expect(opened).toBe(result);
    else expect(opened).toEqual(decodeSafetensors(bytes).tensors);
  }
});
