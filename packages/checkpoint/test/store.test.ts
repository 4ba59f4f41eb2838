import { memoryStore, opfsStore } from "@tensorjar/checkpoint";
import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
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
} else {
  test("opfsStore says where it works", async () => {
    await expectError(() => opfsStore().stat("a"), {
      code: "unsupported",
      names: ["private file system"],
    });
  });
}
