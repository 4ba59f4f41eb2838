import { readFile } from "node:fs/promises";
import {
  decodeNpy,
  encodeNpy,
  isTensorjarError,
  type NpyArray,
  type NpyWriteOptions,
  structField,
} from "@tensorjar/npy";
import { expect, test } from "vitest";
import { type Literal, parseLiteral } from "../packages/npy/src/literal.js";
import { bytesOf } from "../tooling/testing.js";
import { interop, type PythonSet, readPack, type Span, writePack } from "./python.js";

interface Saved {
  readonly file: Span;
  readonly data: Span;
  readonly again: Span;
  readonly version: 1 | 2 | 3 | null;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly fields: Readonly<Record<string, Span>>;
}

const seed = Number(process.env["NPY_SEED"] ?? 20260101);
const count = 600;

for (const set of ["core", "numpy1"] as const satisfies PythonSet[]) {
  interop(`.npy and NumPy (${set})`, set, (python) => {
    test(`${count} arrays of every kind are read, and saved to the bytes of np.save`, async () => {
      await python.run("npy.py", "write", String(seed), String(count));
      const { index, part } = await readPack<Saved[]>(python, "arrays");
      expect(index).toHaveLength(count);
      const older: Uint8Array[] = [];
      for (const [at, saved] of index.entries()) {
        const what = `array ${at} of seed ${seed}: ${saved.dtype} of shape (${saved.shape})`;
        const array = decodeNpy(part(saved.file));
        expect(array.shape, what).toEqual(saved.shape);
        const options: NpyWriteOptions = saved.version ? { version: saved.version } : {};
        expectSame(encodeNpy(array, options), part(saved.again), what);
        if (array.dtype !== "string") expectSame(dataOf(array), part(saved.data), what);
        if (array.dtype === "struct") {
          for (const [name, span] of Object.entries(saved.fields)) {
            const field = structField(array, name);
            const bytes = encodeNpy(field);
            const data = bytes.subarray(bytes.length - (span[1] - span[0]));
            expectSame(data, part(span), `${what}, field ${name}`);
          }
        }
        older.push(encodeNpy(array, { ...options, growthPadding: false }));
      }
      await writePack(python, older);
      const report = JSON.parse(await python.run("npy.py", "check", String(seed), String(count)));
      expect(report.checked).toBe(count);
      expect(report.numpy).toMatch(set === "numpy1" ? /^1\.26\./ : /^2\./);
    });
  });
}

interop(".npy and ml_dtypes", "core", (python) => {
  test("bits of bfloat16 and float8 are written as ml_dtypes has NumPy write them", async () => {
    await python.run("npy.py", "void");
    const { index, part } = await readPack<Record<string, Pick<Saved, "file" | "data">>>(
      python,
      "void",
    );
    const dtypes = [
      "bfloat16",
      "float8_e4m3fn",
      "float8_e8m0fnu",
      "float8_e4m3fnuz",
      "float8_e5m2fnuz",
    ] as const;
    expect(Object.keys(index)).toEqual(dtypes);
    for (const dtype of dtypes) {
      const { file = [0, 0], data = [0, 0] } = index[dtype] ?? {};
      const array = decodeNpy(part(file), { voidAs: dtype });
      expect({ dtype: array.dtype, shape: array.shape }).toEqual({ dtype, shape: [4, 6] });
      expectSame(dataOf(array), part(data), dtype);
      expectSame(encodeNpy(array, { asVoid: true }), part(file), dtype);
    }
  });
});

interface LiteralRow {
  readonly text: string;
  /** Absent where it is refused. */
  readonly value?: unknown;
  /** Which of the differences that docs/formats.md lists is in it. */
  readonly difference?: string | null;
}

interop("the literals of a header and ast.literal_eval", "core", (python) => {
  test("20,000 headers, valid and mutated, have the same value or are refused by both", async () => {
    await python.run("npy.py", "literals", String(seed), "20000");
    const rows: LiteralRow[] = JSON.parse(await readFile(python.path("literals.json"), "utf8"));
    expect(rows).toHaveLength(20_000);
    const outcomes = { value: 0, refused: 0, difference: 0 };
    const faults: string[] = [];
    for (const { text, value, difference } of rows) {
      const ours = JSON.stringify(read(text));
      const theirs = JSON.stringify(value ?? refused);
      if (ours !== theirs) faults.push(`${JSON.stringify(text)}: ${ours}, not ${theirs}`);
      outcomes[difference ? "difference" : value === undefined ? "refused" : "value"]++;
    }
    expect(faults.slice(0, 5)).toEqual([]);
    expect(outcomes.value).toBeGreaterThan(8_000);
    expect(outcomes.refused).toBeGreaterThan(5_000);
    expect(outcomes.difference).toBeGreaterThan(100);
  });
});

const refused = "refused";

/** The value that we read, in the form that npy.py writes. */
function read(text: string): unknown {
  try {
    return encoded(parseLiteral(text));
  } catch (error) {
    if (isTensorjarError(error, "invalid-header")) return refused;
    throw error;
  }
}

function encoded(value: Literal): unknown {
  if (value === null) return null;
  if (typeof value === "boolean") return { bool: value };
  if (typeof value === "bigint") {
    return { int: `${value < 0n ? "-" : ""}0x${(value < 0n ? -value : value).toString(16)}` };
  }
  if (typeof value === "string") return { str: Array.from(value, (c) => c.codePointAt(0)) };
  if (value instanceof Map) {
    return { dict: [...value].map(([key, entry]) => [encoded(key), encoded(entry.value)]) };
  }
  if ("list" in value) return { list: value.list.map(encoded) };
  return { tuple: value.map(encoded) };
}

function dataOf({ data }: NpyArray): Uint8Array {
  if (!ArrayBuffer.isView(data)) throw new Error("strings have no bytes");
  return bytesOf(data);
}

function expectSame(actual: Uint8Array, expected: Uint8Array, what: string): void {
  if (Buffer.compare(actual, expected) === 0) return;
  expect(Buffer.from(actual).toString("latin1").slice(0, 2000), what).toBe(
    Buffer.from(expected).toString("latin1").slice(0, 2000),
  );
  expect.fail(`${what}: the bytes differ past the first 2000`);
}
