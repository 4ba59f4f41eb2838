import { ofType } from "@tensorjar/core";
import { nextTurn } from "@tensorjar/core/codec";
import { expect, test } from "vitest";
import { expectError, gather } from "../../../tooling/testing.js";
import { decodeNpz, type NpyArray, npzChunks, tensor } from "../src/index.js";

test("arrays that come one after another in the same memory are each written as they were", async () => {
  for (const compression of ["stored", "deflate"] as const) {
    for (const length of [1, 1000, 256 << 10, (256 << 10) + 1]) {
      const memory = new Uint8Array(length);
      const coming = async function* (): AsyncGenerator<readonly [string, NpyArray]> {
        for (let i = 0; i < 9; i++) yield [`${i}`, tensor(memory.fill(i))];
      };
      const arrays = decodeNpz(await gather(npzChunks(coming(), { compression })));
      expect([...arrays.keys()]).toEqual(Array.from({ length: 9 }, (_, i) => `${i}`));
      for (const [name, array] of arrays) {
        const { data } = ofType(array, "uint8");
        expect(data.length).toBe(length);
        expect(data.every((value) => value === Number(name))).toBe(true);
      }
    }
  }
});

test("small arrays that are transferred before they are joined to a chunk are told", async () => {
  const small = new Uint8Array(1000);
  // Summing the second takes several turns, after the first was kept to go out with more.
  const arrays = { small: tensor(small), large: tensor(new Uint8Array(17 << 20)) };
  const writing = gather(npzChunks(arrays));
  await nextTurn();
  structuredClone(small.buffer, { transfer: [small.buffer] });
  await expectError(() => writing, { code: "invalid-argument", names: ["transferred"] });
});

test("a large array that is transferred while what is before it is used is told", async () => {
  const large = new Uint8Array(1 << 20);
  const chunks = npzChunks({ small: tensor(new Uint8Array(10)), large: tensor(large) });
  await chunks.next(); // all before the data of the large one
  structuredClone(large.buffer, { transfer: [large.buffer] });
  await expectError(() => chunks.next(), { code: "invalid-argument", names: ["transferred"] });
});
