import type { NpyArray } from "@tensorjar/npy";
import { describe, expect, test } from "vitest";
import { type Case, type ExpectedError, loadCases } from "../../../tooling/cases.js";
import { bytesOf, expectBytes, expectError, gather, toHex } from "../../../tooling/testing.js";
import { bytesSource, decodeNpz, encodeNpz, type NpzReadOptions, openNpz } from "../src/index.js";

interface MemberRecord {
  readonly raw?: boolean;
  readonly error?: ExpectedError;
  readonly dtype?: string;
  readonly shape?: readonly number[];
  readonly hex?: string;
  readonly byteLength?: number;
  readonly sha256?: string;
  readonly values?: readonly unknown[];
}

type Members = readonly (readonly [string, MemberRecord])[];

interface NpzCase extends Case {
  readonly members?: Members;
  readonly or?: readonly NpzCase[];
  readonly lowLimit?: { readonly maxOutputBytes: number; readonly error: ExpectedError };
}

type ReadAll = (
  bytes: Uint8Array<ArrayBuffer>,
  options?: NpzReadOptions,
) => Promise<ReadonlyMap<string, NpyArray>>;

const readers: Record<string, ReadAll> = {
  decoded: async (bytes, options) => decodeNpz(bytes, options),
  "decoded from shared memory": async (bytes, options) => {
    // Pages that are not isolated have no shared memory.
    const Memory = typeof SharedArrayBuffer === "undefined" ? ArrayBuffer : SharedArrayBuffer;
    const shared = new Uint8Array(new Memory(bytes.length + 1), 1);
    shared.set(bytes);
    return decodeNpz(shared, options);
  },
  opened: async (bytes, options) => (await openNpz(bytes, options)).getAll(),
  "opened as a Blob": async (bytes, options) => {
    const arrays = new Map<string, NpyArray>();
    const file = await openNpz(new Blob([bytes]), options);
    for await (const [name, array] of file.entries(undefined, { concurrency: 1 }))
      arrays.set(name, array);
    return arrays;
  },
};

const { cases, read } = await loadCases<NpzCase>("npz");
const withFile = cases.map((c) => [c.id, c] as const);
const prototype = Object.getOwnPropertyNames(Object.prototype);

for (const [how, readAll] of Object.entries(readers)) {
  describe(`files of cases/npz, ${how}`, () => {
    test.each(withFile)("%s", async (_, c) => {
      const bytes = await read(c.file ?? "");
      await oneOf([c, ...(c.or ?? [])], async ({ expect: wanted, error, members = [] }) => {
        if (wanted === "error") await expectError(() => readAll(bytes), error);
        else await expectArrays(await readAll(bytes), members);
      });
      expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(prototype);
    });

    test.each(withFile.filter(([, c]) => c.lowLimit))(
      "%s with a limit",
      async (_, { file, lowLimit }) => {
        const bytes = await read(file ?? "");
        await expectError(
          () => readAll(bytes, { maxInflatedBytes: lowLimit?.maxOutputBytes ?? 0 }),
          lowLimit?.error,
        );
      },
    );
  });
}

describe("members of cases/npz, one by one", () => {
  const withMembers = withFile.filter(([, c]) => c.members && c.members.length > 0);
  test.each(withMembers)("%s", async (_, c) => {
    const bytes = await read(c.file ?? "");
    const file = await openNpz(bytesSource(bytes));
    const members = c.members ?? [];
    expect(file.members.map(({ name }) => name.replace(/\.npy$/, ""))).toEqual(
      members.map(([name]) => name),
    );
    for (const [name, record] of members) {
      if (record.error) {
        await expectError(() => file.get(name), record.error);
        await expectError(() => gather(file.chunks(name)), record.error);
        await expectError(() => decodeNpz(bytes, { names: [name] }), record.error);
      } else if (record.raw) {
        expect(toHex(await file.bytes(name))).toBe(record.hex);
        expect(file.names).not.toContain(name);
        await expectError(() => file.get(name), { code: ["not-this-format", "truncated"] });
      } else {
        await expectArray(await file.get(name), record);
        await expectArray(decodeNpz(bytes, { names: [name] }).get(name), record);
        const { dtype, shape } = await file.info(name);
        expect({ dtype, shape }).toEqual({ dtype: record.dtype, shape: record.shape });
        if (record.dtype !== "bytes") await expectBytes(await gather(file.chunks(name)), record);
      }
    }
  });
});

test("the gsplat profile writes the bytes that the gem writes", async () => {
  const checkpoints = await loadCases("checkpoint");
  const bytes = await checkpoints.read("ckpt-trainer-sh1-stored.npz");
  const arrays = decodeNpz(bytes);
  expect(arrays.size).toBe(27);
  expect(toHex(encodeNpz(arrays, { profile: "gsplat" }))).toBe(toHex(bytes));
});

async function oneOf<T>(
  outcomes: readonly T[],
  check: (outcome: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const outcome of outcomes) {
    try {
      return await check(outcome);
    } catch (failure) {
      failures.push(failure);
    }
  }
  throw failures[0];
}

async function expectArrays(
  arrays: ReadonlyMap<string, NpyArray>,
  members: Members,
): Promise<void> {
  const wanted = members.filter(([, record]) => !record.raw);
  expect([...arrays.keys()]).toEqual(wanted.map(([name]) => name));
  for (const [name, record] of wanted) await expectArray(arrays.get(name), record);
}

async function expectArray(array: NpyArray | undefined, record: MemberRecord): Promise<void> {
  expect({ dtype: array?.dtype, shape: array?.shape }).toEqual({
    dtype: record.dtype,
    shape: record.shape,
  });
  if (array === undefined || array.dtype === "string") throw new Error("no case holds strings");
  await expectBytes(bytesOf(array.data), record);
}
