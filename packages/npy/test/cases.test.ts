import { describe, expect, test } from "vitest";
import { type Case, type ExpectedError, loadCases } from "../../../tooling/cases.js";
import { bytesOf, expectBytes, expectError, toHex } from "../../../tooling/testing.js";
import {
  decodeNpy,
  decodeNpySequence,
  type NpyArray,
  type NpyReadOptions,
  type StructField,
  structField,
} from "../src/index.js";

interface FieldRecord {
  readonly name: string;
  readonly offset: number;
  readonly dtype: string;
  readonly title?: string;
  readonly byteOrder?: string;
  readonly itemsize?: number;
  readonly shape?: readonly number[];
  readonly fields?: readonly FieldRecord[];
}

interface NpyRecord {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly itemsize?: number;
  readonly hex?: string;
  readonly byteLength?: number;
  readonly sha256?: string;
  readonly values?: readonly unknown[];
  readonly fields?: readonly FieldRecord[];
  readonly fieldCount?: number;
  readonly firstFields?: readonly FieldRecord[];
  readonly columns?: readonly (readonly [string, NpyRecord])[];
}

type Outcome =
  | { readonly expect: "ok"; readonly array: NpyRecord }
  | { readonly expect: "error"; readonly error: ExpectedError };

interface NpyCase extends Case {
  readonly array?: NpyRecord;
  readonly maxAlloc?: number;
  readonly subarray?: readonly [number, number];
  readonly or?: readonly Outcome[];
  readonly raisedLimit?: { readonly headerChars: number; readonly array: NpyRecord };
  readonly reinterpret?: { readonly as: "bfloat16" | "float8_e4m3fn"; readonly array: NpyRecord };
  readonly sequence?: readonly NpyRecord[];
}

const { cases, read } = await loadCases<NpyCase>("npy");

async function bytesOfCase({ file, subarray }: NpyCase): Promise<Uint8Array> {
  const bytes = await read(file ?? "");
  return subarray === undefined ? bytes : bytes.subarray(...subarray);
}

describe("files of cases/npy", () => {
  test.each(cases.map((c) => [c.id, c] as const))("%s", async (_, c) => {
    const bytes = await bytesOfCase(c);
    const before = bytes.slice();
    const outcomes = [c, ...(c.or ?? [])];
    const failures: unknown[] = [];
    for (const { expect: wanted, ...outcome } of outcomes) {
      try {
        if (wanted === "error") {
          await expectError(() => decodeNpy(bytes), "error" in outcome ? outcome.error : {});
        } else if ("array" in outcome && outcome.array) {
          await expectArray(decodeNpy(bytes), outcome.array);
        }
        break;
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length === outcomes.length) throw failures[0];
    expect(toHex(bytes) === toHex(before)).toBe(true);
  });

  test.each(cases.flatMap((c) => (c.maxAlloc ? [[c.id, c.maxAlloc, c] as const] : [])))(
    "%s allocates at most %d bytes",
    async (_, maxAlloc, c) => {
      const bytes = await bytesOfCase(c);
      expect(allocatedBy(() => decodeNpy(bytes))).toBeLessThanOrEqual(maxAlloc);
    },
  );

  const withOption = (option: (c: NpyCase) => unknown) =>
    cases.filter((c) => option(c) !== undefined).map((c) => [c.id, c] as const);

  test.each(withOption((c) => c.raisedLimit))("%s with its limit raised", async (_, c) => {
    const { headerChars = 0, array } = c.raisedLimit ?? {};
    const decoded = decodeNpy(await bytesOfCase(c), { maxHeaderLength: headerChars });
    await expectArray(decoded, array);
  });

  test.each(withOption((c) => c.reinterpret))("%s with void as a dtype", async (_, c) => {
    const options: NpyReadOptions = c.reinterpret ? { voidAs: c.reinterpret.as } : {};
    await expectArray(decodeNpy(await bytesOfCase(c), options), c.reinterpret?.array);
  });

  test.each(withOption((c) => c.sequence))("%s as a sequence", async (_, c) => {
    const arrays = [...decodeNpySequence(await bytesOfCase(c))];
    expect(arrays).toHaveLength(c.sequence?.length ?? 0);
    for (const [at, array] of arrays.entries()) await expectArray(array, c.sequence?.[at]);
  });
});

/** The bytes of every Uint8Array that `work` makes by its length, whether it throws or not. */
function allocatedBy(work: () => unknown): number {
  const original = Uint8Array;
  let bytes = 0;
  globalThis.Uint8Array = new Proxy(original, {
    construct(target, args, newTarget) {
      if (typeof args[0] === "number") bytes += args[0];
      return Reflect.construct(target, args, newTarget);
    },
  });
  try {
    work();
  } catch {
    // the outcome is another test's
  } finally {
    globalThis.Uint8Array = original;
  }
  return bytes;
}

async function expectArray(array: NpyArray, record: NpyRecord | undefined): Promise<void> {
  if (record === undefined) throw new Error("the case has no array");
  expect(dtypeText(array)).toBe(record.dtype);
  expect(array.shape).toEqual(record.shape);
  if (array.dtype === "string") {
    expect(array.itemLength * 4).toBe(record.itemsize);
    expect(array.data).toEqual(record.values);
    return;
  }
  if (record.itemsize !== undefined) {
    expect("itemSize" in array ? array.itemSize : undefined).toBe(record.itemsize);
  }
  if (array.dtype === "bytes" && record.values) {
    const { data, itemSize } = array;
    const items = record.values.map((_, item) =>
      toHex(data.subarray(item * itemSize, (item + 1) * itemSize)).replace(/(00)+$/, ""),
    );
    expect(items).toEqual(record.values);
    return;
  }
  await expectBytes(bytesOf(array.data), record);
  if (array.dtype !== "struct") return;
  if (record.fields) expect(array.fields.map(fieldRecord)).toEqual(record.fields.map(fullRecord));
  if (record.firstFields) {
    expect(array.fields).toHaveLength(record.fieldCount ?? 0);
    expect(array.fields.slice(0, record.firstFields.length).map(fieldRecord)).toEqual(
      record.firstFields.map(fullRecord),
    );
  }
  for (const [name, column] of record.columns ?? []) {
    await expectArray(structField(array, name), column);
  }
}

function dtypeText(array: NpyArray): string {
  return "unit" in array && array.unit !== "" ? `${array.dtype}[${array.unit}]` : array.dtype;
}

const hasSize = ["string", "bytes", "void", "struct"];

/** A field in the form of the manifest, with what it leaves out filled in. */
function fieldRecord(field: StructField): object {
  const { name, title, offset, dtype, byteOrder, shape, itemSize, unit, fields } = field;
  return {
    name,
    title,
    offset,
    dtype: unit ? `${dtype}[${unit}]` : dtype,
    big: byteOrder === "big",
    shape,
    itemsize: hasSize.includes(dtype) ? itemSize : undefined,
    fields: fields?.map(fieldRecord),
  };
}

function fullRecord(field: FieldRecord): object {
  const { name, title, offset, dtype, byteOrder, shape = [], itemsize, fields } = field;
  return {
    name,
    title,
    offset,
    dtype,
    big: byteOrder === "big",
    shape,
    itemsize,
    fields: fields?.map(fullRecord),
  };
}
