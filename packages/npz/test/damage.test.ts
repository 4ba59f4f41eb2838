import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectError, gather, mutate, random } from "../../../tooling/testing.js";
import {
  decodeNpz,
  encodeNpz,
  isTensorjarError,
  type NpyArray,
  npzChunks,
  openNpz,
  tensor,
} from "../src/index.js";
import { float32, latin, makeZip, npyMember } from "./zip-maker.js";

const arrays = new Map<string, NpyArray>([
  ["w", float32([1, 2, 3])],
  ["b", tensor(BigInt64Array.of(-1n, 5n))],
]);

/** What each byte of a small archive written by us is called. */
function fieldsOf(bytes: Uint8Array): string[] {
  const names: string[] = [];
  const put = (...layout: [string, number][]): void => {
    for (const [name, length] of layout) for (let i = 0; i < length; i++) names.push(name);
  };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  while (names.length < bytes.length) {
    const at = names.length;
    const signature = view.getUint32(at, true);
    if (signature === 0x04034b50) {
      const [name, extra] = [view.getUint16(at + 26, true), view.getUint16(at + 28, true)];
      put(
        ["local signature", 4],
        ["local version", 2],
        ["local flags", 2],
        ["local method", 2],
        ["local time", 4],
      );
      put(
        ["local crc", 4],
        ["local sizes", 8],
        ["local name length", 2],
        ["local extra length", 2],
        ["local name", name],
      );
      put(["local extra", extra], ["data", view.getUint32(at + 18, true)]);
    } else if (signature === 0x02014b50) {
      put(
        ["signature", 4],
        ["version made by", 2],
        ["version", 2],
        ["flags", 2],
        ["method", 2],
        ["time", 4],
        ["crc", 4],
      );
      put(
        ["sizes", 8],
        ["name length", 2],
        ["extra length", 2],
        ["comment length", 2],
        ["disk", 2],
        ["attributes", 6],
      );
      put(["offset", 4], ["name", view.getUint16(at + 28, true)]);
    } else put(["end record", 22]);
  }
  return names;
}

describe("a flipped bit", () => {
  // Nothing that readers use: versions, times, attributes; flags that say how hard deflate tried, that the sizes follow
  // the data (the directory has them) or that an ASCII name is UTF-8; what local headers repeat of the directory's CRC-32,
  // and the content of extra fields, which only align.
  const harmless = [
    "local version",
    "local flags",
    "local time",
    "local crc",
    "local extra",
    "version made by",
    "version",
    "flags",
    "time",
    "attributes",
  ];

  test.each(["stored", "deflate"] as const)(
    "in a %s archive is told, or changes nothing",
    async (compression) => {
      const bytes = encodeNpz(arrays, { compression });
      const names = fieldsOf(bytes);
      const unnoticed = new Set<string>();
      for (let bit = 0; bit < 8 * bytes.length; bit++) {
        const at = bit >> 3;
        const flipped = bytes.slice();
        flipped[at] = (flipped[at] ?? 0) ^ (1 << (bit & 7));
        for (const read of [decodeNpz, async (b: Uint8Array) => (await openNpz(b)).getAll()]) {
          try {
            const decoded = await read(flipped);
            if (!sameArrays(decoded))
              throw new Error(`bit ${bit} in ${names[at]} changes what is read`);
            unnoticed.add(names[at] ?? "");
          } catch (error) {
            if (!isTensorjarError(error)) throw error;
          }
        }
      }
      for (const name of unnoticed) expect([...harmless, "data"]).toContain(name);
      if (compression === "stored") expect([...unnoticed]).not.toContain("data");
    },
  );

  function sameArrays(decoded: ReadonlyMap<string, NpyArray>): boolean {
    if ([...decoded.keys()].join() !== [...arrays.keys()].join()) return false;
    return [...decoded].every(([name, array]) => text(array) === text(arrays.get(name)));
  }
});

test("mutated archives are read or refused with a TensorjarError", async () => {
  const seeds = [
    encodeNpz(arrays),
    encodeNpz(arrays, { compression: "deflate" }),
    makeZip([npyMember("x.npy"), { name: "README", raw: latin("hello") }], {
      zip64: {},
      comment: latin("PK\x05\x06"),
    }),
  ];
  const rng = random(20);
  let refused = 0;
  for (let i = 0; i < 3000; i++) {
    const bytes = mutate(rng.pick(seeds), rng);
    try {
      if (i % 2 === 0) decodeNpz(bytes);
      else await (await openNpz(bytes)).getAll();
    } catch (error) {
      if (!isTensorjarError(error)) throw error;
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(2000);
});

describe("a round trip", () => {
  const names = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
    .filter((name) => !/^\/|\\|\0|(^|\/)\.\.(\/|$)/.test(name));
  const array = fc.oneof(
    fc.float32Array({ maxLength: 300 }).map((data): NpyArray => tensor(data)),
    fc.bigInt64Array({ maxLength: 30 }).map((data): NpyArray => tensor(data, [data.length, 1])),
    fc.uint8Array({ maxLength: 5000 }).map((data): NpyArray => tensor(data, [1, data.length, 1])),
    fc
      .array(fc.string({ unit: "grapheme", maxLength: 5 }).filter((s) => !s.endsWith("\0")))
      .map((data): NpyArray => ({ dtype: "string", shape: [data.length], data, itemLength: 60 })),
  );
  const archive = fc.uniqueArray(fc.tuple(names, array), {
    selector: ([name]) => name,
    maxLength: 8,
  });
  const options = fc.record({
    compression: fc.constantFrom("stored", "deflate"),
    level: fc.integer({ min: 0, max: 9 }),
    align: fc.constantFrom(1, 8, 64, 512),
    profile: fc.constantFrom("numpy", "gsplat"),
  });

  test("through bytes, sources and chunks gives the arrays back", async () => {
    await fc.assert(
      fc.asyncProperty(archive, options, async (pairs, how) => {
        const bytes = encodeNpz(pairs, how);
        const chunked = await gather(npzChunks(pairs, how));
        if (how.compression === "stored") expect(chunked).toEqual(bytes);
        const file = await openNpz(new Blob([chunked]));
        for (const decoded of [decodeNpz(bytes), await file.getAll()]) {
          expect([...decoded].map(([name, value]) => [name, text(value)])).toEqual(
            pairs.map(([name, value]) => [name, text(value)]),
          );
        }
      }),
      { numRuns: 60 },
    );
  });
});

/** An array as text that tells every bit of it. */
function text(array: NpyArray | undefined): string {
  if (array === undefined) return "";
  const { dtype, shape, data } = array;
  const content = Array.isArray(data)
    ? data
    : [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
  return JSON.stringify([dtype, shape, content]);
}

test("a damaged header is a checksum mismatch for whoever reads the member", async () => {
  for (const method of [0, 8]) {
    const member = npyMember("a.npy");
    const damaged = encodeNpz(arrays, { compression: method === 0 ? "stored" : "deflate" });
    const view = new DataView(damaged.buffer);
    const start = 30 + view.getUint16(26, true) + view.getUint16(28, true);
    damaged[start + 20] = 0xff; // of the header of the first array, or of the stream that it is in
    const file = await openNpz(damaged);
    const wrong = await openNpz(makeZip([{ ...member, raw: latin("no array at all") }]));
    await expectError(() => file.get("w"), { code: "checksum-mismatch", names: ['"w.npy"'] });
    await expectError(() => drain(file.chunks("w")), {
      code: "checksum-mismatch",
      names: ['"w.npy"'],
    });
    await expectError(() => drain(wrong.chunks("a")), { code: "not-this-format" });
  }
});

async function drain(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of pieces);
}
