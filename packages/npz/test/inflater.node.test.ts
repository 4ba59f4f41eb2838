import { expect, test, vi } from "vitest";
import { collect, expectError } from "../../../tooling/testing.js";
import { inflate, inflateChunks } from "../src/inflate.js";

vi.mock("../src/inflate-sync.js", () => {
  throw new Error("import() is disallowed here");
});

async function* pieces() {
  yield Uint8Array.of(3, 0);
}

test("an inflater that cannot be loaded is no damage of the data", async () => {
  const told = { code: "io", names: ["inflater was not loaded"] } as const;
  await expectError(() => collect(inflateChunks(pieces())), told);
  const error = await expectError(() => inflate(Uint8Array.of(255, 255), 5), told); // the engine's own refuses it
  expect(error.cause).toBeInstanceOf(Error);
});
