import { type Sink, tensor } from "@tensorjar/core";
import { describe, expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { createNpyWriter } from "../src/index.js";

/** A sink that writes down what is done to it, and does `on` in the middle of a call. */
function recordingSink(
  on: (call: string, chunk?: Uint8Array) => unknown,
): Sink & { readonly calls: string[] } {
  const calls: string[] = [];
  const record = async (call: string, chunk?: Uint8Array): Promise<void> => {
    calls.push(call);
    await on(call, chunk);
  };
  return {
    calls,
    write: (chunk) => record(`write ${chunk.length}`, chunk),
    rewrite: () => record("rewrite"),
    close: () => record("close"),
    abort: (reason) => record(`abort ${reason}`),
  };
}

const head = 128;
const piece = 64 << 20;

describe("a file of rows that is given up", () => {
  test("while a call is under way has nothing more done to it, and is never closed", async () => {
    const ends = [`write ${head}`, `write ${piece}`, "rewrite"];
    for (const end of ends) {
      const sink = recordingSink(async (call) => {
        if (call === end) await writer.abort("enough");
      });
      const writer = createNpyWriter(sink, { dtype: "uint8", rowShape: [] });
      const appending = writer.append(tensor(new Uint8Array(piece + 1)));
      const closing = writer.close();
      if (end !== "rewrite") await expect(appending).rejects.toBe("enough");
      await expect(closing).rejects.toBe("enough");
      expect(sink.calls.slice(-2)).toEqual([end, "abort enough"]);
    }
  });

  test("is one whose rows are transferred while they are written", async () => {
    const sink = recordingSink((_call, chunk) => {
      if (chunk?.buffer instanceof ArrayBuffer)
        structuredClone(chunk.buffer, { transfer: [chunk.buffer] });
    });
    const writer = createNpyWriter(sink, { dtype: "uint8", rowShape: [], rows: piece + 1 });
    await expectError(() => writer.append(tensor(new Uint8Array(piece + 1))), {
      code: "invalid-argument",
      names: ["transferred"],
    });
    expect(sink.calls.map((call) => call.split(" ")[0])).toEqual(["write", "write", "abort"]);
  });
});
