import { memoryStore, opfsStore } from "@tensorjar/checkpoint";
import { expect, test, vi } from "vitest";
import { collect, expectError } from "../../../tooling/testing.js";
import { storeSuite } from "./store-suite.js";

storeSuite("memoryStore", async () => {
  const store = memoryStore();
  return {
    store,
    again: () => store,
    async litter() {
      const names: string[] = [];
      for await (const { name } of store.list()) names.push(name);
      return names;
    },
  };
});

const hasPrivateFiles = globalThis.navigator?.storage?.getDirectory !== undefined;

if (hasPrivateFiles) {
  let folders = 0;
  storeSuite("opfsStore", async () => {
    const root = await navigator.storage.getDirectory();
    const name = `store-${folders++}`;
    await root.removeEntry(name, { recursive: true }).catch(() => {}); // from another run
    const folder = await root.getDirectoryHandle(name, { create: true });
    return {
      store: opfsStore(folder),
      again: () => opfsStore(folder),
      async litter() {
        const names: string[] = [];
        for await (const entry of folder.keys()) names.push(entry);
        return names.sort();
      },
    };
  });

  test("opfsStore removes temporary files that nobody writes, when it takes the lock", async () => {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle(`litter-${crypto.randomUUID()}`, { create: true });
    const abandoned = `.tensorjar-${crypto.randomUUID()}.tmp`;
    for (const name of [abandoned, ".tensorjar-notes", "step-1.tmp"]) {
      await folder.getFileHandle(name, { create: true });
    }
    const store = opfsStore(folder);
    let resume = () => {};
    async function* slow() {
      yield Uint8Array.of(1);
      await new Promise<void>((resolve) => {
        resume = resolve;
        started();
      });
    }
    let started = () => {};
    const writing = new Promise<void>((resolve) => {
      started = resolve;
    });
    const put = store.put("a", slow());
    await writing;
    const lock = await store.lock?.("writer");
    resume();
    await put;
    const left: string[] = [];
    for await (const name of folder.keys()) left.push(name);
    expect(left.sort()).toEqual([".tensorjar-notes", "a", "step-1.tmp"]);
    await lock?.release();
    await root.removeEntry(folder.name, { recursive: true });
  });

  test("opfsStore tells in its own words of a storage that is denied, and asks it again", async () => {
    const denied = new DOMException("the context is sandboxed", "SecurityError");
    const asked = vi.spyOn(navigator.storage, "getDirectory").mockRejectedValueOnce(denied);
    try {
      const store = opfsStore();
      const told = { code: "io", names: ["file system says SecurityError"] } as const;
      expect((await expectError(() => store.stat("a"), told)).cause).toBe(denied);
      asked.mockRejectedValueOnce(denied);
      await expectError(() => store.lock?.("writer"), told);
      expect(await store.stat("no such file")).toBeUndefined();
    } finally {
      asked.mockRestore();
    }
  });

  test("opfsStore tells in its own words of a folder that is gone", async () => {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle(`gone-${crypto.randomUUID()}`, { create: true });
    const store = opfsStore(folder);
    await store.put("a", [Uint8Array.of(1)]);
    await root.removeEntry(folder.name, { recursive: true });
    const told = { code: "io", names: ["NotFoundError"] } as const;
    await expectError(() => collect(store.list()), told);
    await expectError(() => store.put("a", [Uint8Array.of(1)]), told);
    for (let attempt = 0; attempt < 2; attempt++) await expectError(() => store.lock?.("w"), told); // released in between
    await expectError(() => store.open("a"), { code: "not-found" });
    expect(await store.stat("a")).toBeUndefined();
  });
} else {
  test("opfsStore says where it works", async () => {
    await expectError(() => opfsStore().stat("a"), {
      code: "unsupported",
      names: ["private file system"],
    });
  });
}
