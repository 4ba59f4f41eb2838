// The recipe "Resume after a crash in the browser", whose text docs/recipes.md holds.
import { expect, test } from "vitest";
import { train } from "./recipes/resume.js";
import { step } from "./recipes/step.js";

const hasPrivateFiles = globalThis.navigator?.storage?.getDirectory !== undefined;

async function forget(): Promise<void> {
  const root = await navigator.storage.getDirectory();
  const names: string[] = [];
  for await (const name of root.keys()) if (/^step-.*\.safetensors$/.test(name)) names.push(name);
  for (const name of names) await root.removeEntry(name);
}

test.runIf(hasPrivateFiles)(
  "a worker that is ended in the middle goes on in the page as if it had not been",
  async () => {
    await forget();
    const worker = new Worker(new URL("./recipes/crashing.worker.js", import.meta.url), {
      type: "module",
    });
    const reached = await new Promise<number>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
    worker.terminate();
    expect(reached).toBe(37);

    let first: number | undefined;
    const resumed = await train(45, (state) => {
      first ??= state.step;
      step(state);
    });
    expect([10, 20, 30]).toContain(first);
    await forget();
    expect(resumed).toEqual(await train(45, step));
    await forget();
  },
);

test.runIf(!hasPrivateFiles)("where there are no private files the recipe says so", async () => {
  await expect(train(1, step)).rejects.toMatchObject({ code: "unsupported" });
});
