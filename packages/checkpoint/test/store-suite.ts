/** What every store must do; run over each of them. */
import type { Store } from "@tensorjar/checkpoint";
import { describe, expect, test } from "vitest";
import { bytesOf, expectError, unusualBuffers } from "../../../tooling/testing.js";

/** A store, what to see it through again, and what is really there besides what it lists. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Another store over the same place, as another process or tab has it; the same one where there can be none. */
  again(): Store;
  /** Every name that the place holds, temporary ones too. */
  litter(): Promise<string[]>;
}

const bytes = (...values: number[]) => Uint8Array.from(values);
const boom = new Error("boom");

async function names(store: Store, prefix?: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of store.list(prefix)) found.push(name);
  return found;
}

async function content(store: Store, name: string): Promise<number[]> {
  const source = await store.open(name);
  try {
    return [...(await source.read(0, source.size))];
  } finally {
    await source.close?.();
  }
}

export function storeSuite(title: string, make: () => Promise<StoreUnderTest>): void {
  describe(title, () => {
    test("gives back what was put, whole, from chunks of any kind", async () => {
      const { store, again } = await make();
      async function* chunks() {
        yield bytes(1, 2);
        yield bytes();
        yield bytes(3);
      }
      await store.put("a", chunks());
      await store.put("b", [bytes(4), bytes(5, 6)], { size: 3 });
      await store.put("empty", []);
      expect(await content(store, "a")).toEqual([1, 2, 3]);
      expect(await content(again(), "b")).toEqual([4, 5, 6]);
      expect(await content(again(), "empty")).toEqual([]);
      expect((await store.stat("b"))?.size).toBe(3);
      const source = await store.open("b");
      expect(source.size).toBe(3);
      expect([...(await source.read(1, 1))]).toEqual([5]);
      await source.close?.();
    });

    test("copies chunks: a writer may reuse its buffer", async () => {
      const { store } = await make();
      const buffer = bytes(1);
      async function* chunks() {
        yield buffer;
        buffer[0] = 2;
        yield buffer;
      }
      await store.put("a", chunks());
      buffer[0] = 9;
      expect(await content(store, "a")).toEqual([1, 2]);
    });

    test("lists by name, with sizes, and only what begins with a prefix", async () => {
      const { store, again } = await make();
      for (const name of ["step-2", "b", "step-10", "\uff5e", "\u{1f600}", "constructor"]) {
        await store.put(name, [bytes(1)]);
      }
      expect(await names(again())).toEqual([
        "b",
        "constructor",
        "step-10",
        "step-2",
        "\uff5e",
        "\u{1f600}",
      ]);
      expect(await names(store, "step-")).toEqual(["step-10", "step-2"]);
      for await (const entry of store.list("b")) {
        expect(entry).toMatchObject({ name: "b", size: 1 });
      }
    });

    test("has nothing before the first file", async () => {
      const { store } = await make();
      expect(await names(store)).toEqual([]);
      expect(await store.stat("a")).toBe(undefined);
      await store.delete("a");
      await expectError(() => store.open("a"), { code: "not-found", names: ["a"] });
    });

    test("replaces a file as a whole, and what was open stays what it was or says so", async () => {
      const { store } = await make();
      await store.put("a", [bytes(1, 2, 3)]);
      const first = await store.stat("a");
      const old = await store.open("a");
      await store.put("a", [bytes(4, 5)]);
      expect(await content(store, "a")).toEqual([4, 5]);
      expect((await store.stat("a"))?.etag).not.toBe(first?.etag);
      try {
        expect([...(await old.read(0, 3))]).toEqual([1, 2, 3]);
      } catch (error) {
        await expectError(() => Promise.reject(error), { code: ["source-changed", "not-found"] });
      }
      await old.close?.();
      await store.delete("a");
      expect(await names(store)).toEqual([]);
    });

    test("keeps the old file, or none, when putting fails; nothing is left", async () => {
      const { store, litter } = await make();
      await store.put("a", [bytes(1)]);
      async function* failing() {
        yield bytes(7, 7);
        throw boom;
      }
      await expect(store.put("a", failing())).rejects.toBe(boom);
      await expect(store.put("b", failing())).rejects.toBe(boom);
      await expectError(() => store.put("b", [bytes(1)], { size: 2 }), {
        code: "invalid-argument",
        names: ["2 bytes", "1 came"],
      });
      await expectError(() => store.put("b", [bytes(1, 2, 3)], { size: 2 }), {
        code: "invalid-argument",
      });
      const notBytes: unknown = ["text"];
      await expectError(() => store.put("b", notBytes as Uint8Array[]), {
        code: "invalid-argument",
      }); // what a program without types may give
      expect(await content(store, "a")).toEqual([1]);
      expect(await names(store)).toEqual(["a"]);
      expect(await litter()).toEqual(["a"]);
    });

    test("puts only what is absent when asked to, also when two do at once", async () => {
      const { store, again, litter } = await make();
      await store.put("a", [bytes(1)], { ifAbsent: true });
      await expectError(() => store.put("a", [bytes(2)], { ifAbsent: true }), {
        code: "already-exists",
        names: ["a"],
      });
      const results = await Promise.allSettled([
        store.put("b", [bytes(3)], { ifAbsent: true }),
        again().put("b", [bytes(4)], { ifAbsent: true }),
      ]);
      expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const winner = results[0]?.status === "fulfilled" ? 3 : 4;
      expect(await content(store, "b")).toEqual([winner]);
      expect(await content(store, "a")).toEqual([1]);
      expect(await litter()).toEqual(["a", "b"]);
    });

    test("puts many files at once", async () => {
      const { store, litter } = await make();
      const all = Array.from({ length: 20 }, (_, i) => `file-${String(i).padStart(2, "0")}`);
      await Promise.all(all.map((name, i) => store.put(name, [bytes(i), bytes(i)])));
      expect(await names(store)).toEqual(all);
      expect(await litter()).toEqual(all);
      expect(await content(store, "file-19")).toEqual([19, 19]);
    });

    test("stops at once when it is aborted, even while a chunk does not come", async () => {
      const { store, litter } = await make();
      await store.put("kept", [bytes(1)]);
      const before = AbortSignal.abort(boom);
      await expect(store.put("a", [bytes(1)], { signal: before })).rejects.toBe(boom);
      const controller = new AbortController();
      let closed = false;
      async function* hanging() {
        try {
          yield bytes(1);
          controller.abort(boom);
          yield bytes(2);
          await new Promise(() => {});
        } finally {
          closed = true;
        }
      }
      await expect(store.put("a", hanging(), { signal: controller.signal })).rejects.toBe(boom);
      expect(closed).toBe(true);
      const second = new AbortController();
      async function* never() {
        yield bytes(1);
        queueMicrotask(() => second.abort(boom));
        await new Promise(() => {});
      }
      await expect(store.put("kept", never(), { signal: second.signal })).rejects.toBe(boom);
      expect(await content(store, "kept")).toEqual([1]);
      expect(await litter()).toEqual(["kept"]);
    });

    test("refuses names that are no plain file names", async () => {
      const { store, litter } = await make();
      for (const name of [
        "",
        ".",
        "..",
        "a/b",
        "../a",
        "a\\b",
        "c:d",
        "a\0b",
        "a\n",
        ".tensorjar-x",
        "\ud800",
        "x".repeat(256),
      ]) {
        for (const call of [
          () => store.put(name, [bytes(1)]),
          () => store.open(name),
          () => store.stat(name),
          () => store.delete(name),
        ]) {
          await expectError(call, { code: "invalid-name" });
        }
      }
      for (const name of ["__proto__", "toString", "ü", "x".repeat(200), "a b.c"]) {
        await store.put(name, [bytes(1)]);
        expect(await content(store, name)).toEqual([1]);
      }
      expect(await litter()).toHaveLength(5);
    });

    test("gives its lock to one at a time", async () => {
      const { store, again, litter } = await make();
      const take = (from: Store) => from.lock?.("writer");
      const first = await take(store);
      await expectError(() => take(again()), { code: "locked", names: ["writer"] });
      await expectError(() => take(store), { code: "locked" });
      const other = await store.lock?.("other");
      await first?.check?.();
      await first?.release();
      await first?.release();
      const second = await take(again());
      await expectError(() => take(store), { code: "locked" });
      await second?.release();
      await other?.release();
      const contenders = await Promise.allSettled([take(store), take(again()), take(store)]);
      const won = contenders.flatMap((r) => (r.status === "fulfilled" ? [r.value] : []));
      expect(won).toHaveLength(1);
      for (const result of contenders) {
        if (result.status === "rejected")
          await expectError(() => Promise.reject(result.reason), { code: "locked" });
      }
      await won[0]?.release();
      expect(await litter()).toEqual([]);
    });

    test("takes chunks in memory that is shared or can change its size", async () => {
      const { store, litter } = await make();
      for (const buffer of unusualBuffers(3)) {
        await store.put("a", [new Uint8Array(buffer).fill(7)]);
        expect(await content(store, "a")).toEqual([7, 7, 7]);
      }
      expect(await litter()).toEqual(["a"]);
    });

    test("holds a large file whose chunks are many", async () => {
      const { store } = await make();
      const chunk = new Uint8Array(300_000).map((_, i) => i % 251);
      async function* chunks() {
        for (let i = 0; i < 10; i++) yield chunk;
      }
      await store.put("large", chunks(), { size: 3_000_000 });
      const source = await store.open("large");
      const read = bytesOf(await source.read(2_700_000, 300_000));
      expect(read.every((value, i) => value === i % 251)).toBe(true);
      await source.close?.();
    });
  });
}
