import { expect, test } from "vitest";
import { loadCases } from "../../../tooling/cases.js";
import { mutate, type Random, random } from "../../../tooling/testing.js";
import { decodeNpy, encodeNpy, isTensorjarError, structField } from "../src/index.js";

const { cases, read } = await loadCases("npy");
const seeds = await Promise.all(cases.flatMap(({ file }) => (file ? [read(file)] : [])));

/** Whether `bytes` are an array, which then survives a round trip; anything but our own error is thrown. */
function isArray(bytes: Uint8Array): boolean {
  try {
    const array = decodeNpy(bytes, { maxHeaderLength: 100_000 });
    if (array.dtype === "struct") for (const { name } of array.fields) structField(array, name);
    if (array.dtype !== "bfloat16") encodeNpy(array);
    return true;
  } catch (error) {
    if (isTensorjarError(error)) return false;
    throw error;
  }
}

/** A copy with one byte changed, which often leaves an array. */
function withOneByteChanged(bytes: Uint8Array, rng: Random): Uint8Array {
  const copy = bytes.slice();
  copy[rng.below(copy.length)] = rng.below(256);
  return copy;
}

test("files with small changes are read or refused with an error of ours", () => {
  const rng = random(20260101);
  const small = seeds.filter(({ length }) => length > 0 && length < 2000);
  let read = 0;
  let refused = 0;
  for (let run = 0; run < 4000; run++) {
    const seed = rng.pick(small);
    if (isArray(run % 2 ? mutate(seed, rng) : withOneByteChanged(seed, rng))) read++;
    else refused++;
  }
  expect(read).toBeGreaterThan(100);
  expect(refused).toBeGreaterThan(1000);
});

test("files cut anywhere are refused", () => {
  for (const seed of seeds) {
    if (seed.length > 300 || !isArray(seed)) continue;
    for (let length = 0; length < seed.length; length++) {
      expect(isArray(seed.subarray(0, length)), `${length}`).toBe(false);
    }
  }
});
