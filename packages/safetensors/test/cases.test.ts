import type { DType, Tensor } from "@tensorjar/core";
import { describe, expect, it } from "vitest";
import { type Case, loadCases } from "../../../tooling/cases.js";
import {
  type ArrayRecord,
  bytesOf,
  collect,
  expectError,
  expectRecord,
  fromHex,
  sha256,
} from "../../../tooling/testing.js";
import { dtypeCalled } from "../src/dtype-names.js";
import {
  decodeSafetensors,
  encodeSafetensors,
  encodeSafetensorsHeader,
  openSafetensors,
} from "../src/index.js";

interface SafetensorsCase extends Case {
  readonly size: number;
  readonly tensors?: readonly (readonly [string, ArrayRecord])[];
  readonly metadata?: readonly (readonly [string, string])[] | null;
  readonly count?: number;
  readonly namesSha256?: string;
  readonly sample?: readonly (readonly [number, string, ArrayRecord])[];
  readonly roundTrip?: boolean;
}

interface Golden {
  readonly id: string;
  readonly file: string;
  readonly tensors: readonly (readonly [string, ArrayRecord])[];
  readonly metadata: readonly (readonly [string, string])[] | null;
}

interface Content {
  readonly tensors: Map<string, Tensor>;
  readonly metadata: ReadonlyMap<string, string>;
}

const { cases, read } = await loadCases<SafetensorsCase>("safetensors");
const golden = await loadCases<Case & Golden>("safetensors/golden", "golden.json");
const prototype = Object.getOwnPropertyNames(Object.prototype);

const readers: Record<string, (bytes: Uint8Array<ArrayBuffer>) => Promise<Content> | Content> = {
  decoded: (bytes) => decodeSafetensors(bytes),
  "decoded from shared memory": (bytes) => {
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length + 3), 3);
    shared.set(bytes);
    return decodeSafetensors(shared, { copy: true });
  },
  opened: async (bytes) => {
    const file = await openSafetensors(bytes);
    return { tensors: await file.getAll(), metadata: file.metadata };
  },
  "opened as a Blob": async (bytes) => {
    const file = await openSafetensors(new Blob([bytes]));
    return { tensors: new Map(await collect(file.entries())), metadata: file.metadata };
  },
};

async function expectContent(
  { tensors, metadata }: Content,
  expected: SafetensorsCase,
): Promise<void> {
  expect([...metadata]).toEqual(expected.metadata ?? []);
  const names = [...tensors.keys()];
  if (expected.tensors !== undefined) {
    expect(names).toEqual(expected.tensors.map(([name]) => name));
    for (const [name, record] of expected.tensors) await expectRecord(get(tensors, name), record);
  } else {
    expect(names.length).toBe(expected.count);
    expect(await sha256(new TextEncoder().encode(names.join("\n")))).toBe(expected.namesSha256);
    for (const [index, name, record] of expected.sample ?? []) {
      expect(names[index]).toBe(name);
      await expectRecord(get(tensors, name), record);
    }
  }
}

function get(tensors: ReadonlyMap<string, Tensor>, name: string): Tensor {
  const tensor = tensors.get(name);
  if (tensor === undefined) throw new Error(`no tensor ${name}`);
  return tensor;
}

describe.each(Object.entries(readers))("a conformance file, %s", (_, reader) => {
  it.each(cases.map((one) => [one.id, one] as const))("%s", async (_id, one) => {
    const bytes = one.file == null ? new Uint8Array() : await read(one.file);
    if (one.expect === "error") await expectError(() => reader(bytes), one.error);
    else await expectContent(await reader(bytes), one);
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(prototype);
  });
});

it.each(cases.filter((one) => one.expect === "ok").map((one) => [one.id, one] as const))(
  "%s survives a rewrite",
  async (_, one) => {
    const { tensors, metadata } = decodeSafetensors(await read(one.file ?? ""));
    const again = decodeSafetensors(encodeSafetensors(tensors, { metadata }));
    expect(new Map([...again.metadata].sort())).toEqual(new Map([...metadata].sort()));
    expect(again.tensors.size).toBe(tensors.size);
    for (const [name, { dtype, shape, data }] of tensors) {
      const copy = get(again.tensors, name);
      expect({ dtype: copy.dtype, shape: copy.shape }).toEqual({ dtype, shape });
      expect(bytesOf(copy.data)).toEqual(bytesOf(data));
    }
  },
);

it.each(golden.cases.map((one) => [one.id, one] as const))(
  "%s is encoded to the reference's bytes",
  async (_, one) => {
    const tensors = new Map(one.tensors.map(([name, record]) => [name, fromRecord(record)]));
    const encoded = encodeSafetensors(
      tensors,
      one.metadata === null ? {} : { metadata: one.metadata },
    );
    expect(encoded).toEqual(await golden.read(one.file));
  },
);

function fromRecord(record: ArrayRecord): Tensor {
  const dtype = dtypeCalled(record.dtype);
  if (dtype === undefined) throw new Error(`no dtype ${record.dtype}`);
  return tensorOf(dtype, record.shape, fromHex(record.hex ?? ""));
}

function tensorOf(dtype: DType, shape: readonly number[], data: Uint8Array<ArrayBuffer>): Tensor {
  const header = { dtype, shape, begin: 0, end: data.length };
  const bytes = new Uint8Array([...encodeSafetensorsHeader(new Map([["t", header]])), ...data]);
  return get(decodeSafetensors(bytes).tensors, "t");
}
