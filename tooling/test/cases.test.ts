import { describe, expect, test } from "vitest";
import { type Case, loadCases } from "../cases.js";

describe("the conformance files", () => {
  const folders = ["npy", "npz", "safetensors", "tree", "checkpoint", "index", "http"];
  for (const folder of folders) {
    test(`${folder}: ids are unique and every file has the size that its manifest says`, async () => {
      const { cases, read } = await loadCases<Case & { size: number }>(folder);
      expect(new Set(cases.map((c) => c.id)).size).toBe(cases.length);
      for (const { file, size } of cases) {
        if (file) expect((await read(file)).byteLength, file).toBe(size);
      }
    });
  }
});
