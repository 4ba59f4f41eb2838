import { readFileSync } from "node:fs";
import { writeChunks } from "@tensorjar/core/codec";
import { fileSink } from "@tensorjar/core/node";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { expectError, sameBytes } from "../../../tooling/testing.js";
import { turns } from "./deferred.js";

const folder = temporaryFolder();
const misuse = { code: "invalid-argument", names: ["transferred"] } as const;

test("a chunk that its sink transfers before it has all of it is told", async () => {
  const calls: string[] = [];
  const sink = {
    write({ buffer, length }: Uint8Array) {
      calls.push(`write ${length}`);
      structuredClone(buffer, { transfer: buffer instanceof ArrayBuffer ? [buffer] : [] });
    },
    close: () => void calls.push("close"),
    abort: () => void calls.push("abort"),
  };
  const chunk = new Uint8Array((64 << 20) + 1);
  const chunks = (async function* () {
    yield chunk;
  })();
  await expectError(() => writeChunks(sink, { byteLength: chunk.length, chunks }), misuse);
  expect(calls).toEqual([`write ${64 << 20}`, "abort"]);
});

test("a file is not saved without bytes that were transferred while it was written", async () => {
  const sink = fileSink(folder.path("file"));
  const chunk = new Uint8Array(9 << 20);
  const writing = sink.write(chunk);
  await turns();
  const taken = structuredClone(chunk, { transfer: [chunk.buffer] });
  if (chunk.length > 0) {
    // Bun copies memory that the system reads just then, and leaves it where it is.
    await writing;
    await sink.close();
    expect(sameBytes(readFileSync(folder.path("file")), taken)).toBe(true);
    return;
  }
  await expectError(() => writing, misuse);
  await expectError(() => sink.close(), misuse);
  expect(folder.list()).toEqual([]);
  expect(taken.length).toBe(9 << 20); // kept until the system is done with it
});
