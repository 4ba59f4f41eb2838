import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import {
  createNpyWriter,
  decodeNpy,
  encodeNpy,
  openNpy,
  parseNpyHeader,
  structField,
  tensor,
} from "../src/index.js";
import { npyFile } from "./npy-file.js";

/** Calls as JavaScript can, where the compiler is not asked. */
function call(fn: (...args: never[]) => unknown, ...args: unknown[]): () => unknown {
  return () => Reflect.apply(fn, undefined, args);
}

function header(descr: string, shape: string): string {
  return `{'descr': ${descr}, 'fortran_order': False, 'shape': ${shape}}`;
}

test("a field of no bytes is given at once, whatever the number of structs", () => {
  const text = header("[('a', '<f4', (0,)), ('b', '|S0')]", `(${2 ** 50},)`);
  const array = decodeNpy(npyFile(text, { data: 0 }));
  if (array.dtype !== "struct") throw new Error("not a struct");
  expect(structField(array, "a")).toMatchObject({ dtype: "float32", shape: [2 ** 50, 0] });
  expect(structField(array, "b")).toMatchObject({ dtype: "bytes", shape: [2 ** 50] });
});

test("the limit of a header counts characters as Python does", async () => {
  const text = (length: number) => header(`[('${"😀".repeat(length)}', '|u1')]`, "(1,)");
  const taken = [...text(0)].length;
  const fits = npyFile(text(10_000 - taken), { version: 3, data: 1 });
  expect(parseNpyHeader(fits).shape).toEqual([1]);
  const over = npyFile(text(10_001 - taken), { version: 3, data: 1 });
  await expectError(() => decodeNpy(over), { code: "limit-exceeded", names: ["10001", "10000"] });
});

test("a shape of printed NumPy scalars is an invalid shape", async () => {
  for (const shape of ["(np.int64(3),)", "(1, numpy.int32(2))", "(np.uint8(1),)"]) {
    await expectError(() => decodeNpy(npyFile(header("'|u1'", shape), { data: 3 })), {
      code: "invalid-shape",
      names: ["int"],
    });
  }
});

test("arrays and names of the wrong kind are told", async () => {
  const data = new Uint8Array(4);
  const field = { name: "a", dtype: "float32", itemSize: 4, offset: 0, byteOrder: "little" };
  for (const fields of [[undefined], [field], [{ ...field, shape: 3 }]]) {
    const struct = { dtype: "struct", shape: [1], itemSize: 4, data, fields };
    await expectError(call(encodeNpy, struct), { code: "invalid-argument", names: ["field"] });
  }
  for (const itemSize of [4n, -4, 0.5, Symbol("4")]) {
    await expectError(call(encodeNpy, { dtype: "void", shape: [1], itemSize, data }), {
      code: "invalid-dtype",
    });
  }
  for (const array of [undefined, null, tensor(data), {}]) {
    await expectError(call(structField, array, "a"), { code: "invalid-dtype" });
  }
  for (const options of [{ maxHeaderLength: -1 }, { maxHeaderLength: Number.NaN }]) {
    await expectError(() => decodeNpy(encodeNpy(tensor(data)), options), {
      code: "invalid-argument",
      names: ["maxHeaderLength"],
    });
  }
  for (const option of ["fortranOrder", "voidAs", "maxHeaderLength"]) {
    await expectError(call(decodeNpy, npyFile(""), { [option]: Object.create(null) }), {
      code: "invalid-argument",
      names: [option],
    });
  }
  const sink = { write() {}, close() {} };
  for (const rowShape of [undefined, 2, "2", [-1]]) {
    await expectError(call(createNpyWriter, sink, { dtype: "int8", rowShape, rows: 1 }), {
      code: "invalid-shape",
    });
  }
  const file = await openNpy(encodeNpy(tensor(data)));
  for (const name of [undefined, null, 5n, Symbol("x")]) {
    await expectError(call(file.get, name), { code: "not-found" });
  }
  for (const names of [null, 5, true, {}]) {
    await expectError(
      call(async (given: never) => {
        for await (const _ of file.entries(given));
      }, names),
      { code: "invalid-argument", names: ["names"] },
    );
  }
});
