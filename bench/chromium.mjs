// A contestant that runs in a page of headless Chromium.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright";
import { chromiumOptions } from "../tooling/chromium.mjs";

/** A job of jobs/page.mjs over the bytes of a file; undefined where there is no Chromium. */
export function page(name, path) {
  if (!existsSync(chromiumOptions.executablePath)) return undefined;
  return { fresh: false, start: () => start(name, path) };
}

async function start(name, path) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("./jobs/page.mjs", import.meta.url))],
    bundle: true,
    write: false,
    format: "iife",
    globalName: "jobs",
    platform: "browser",
    target: "es2022",
  });
  const server = createServer((request, response) => {
    if (request.url === "/file") return response.end(readFileSync(path));
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>bench</title>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const args = [...chromiumOptions.args, "--js-flags=--expose-gc"];
  const browser = await chromium.launch({ ...chromiumOptions, args });
  const tab = await browser.newPage();
  await tab.goto(`http://127.0.0.1:${server.address().port}/`);
  await tab.addScriptTag({ content: outputFiles[0].text.replace(/^var jobs/m, "globalThis.jobs") });
  await tab.evaluate(async (name) => {
    const file = await fetch("/file");
    globalThis.run = await jobs.start(name, new Uint8Array(await file.arrayBuffer()));
  }, name);
  return {
    sample: () =>
      tab.evaluate(async () => {
        gc();
        const start = performance.now();
        await run();
        return { ms: performance.now() - start };
      }),
    async stop() {
      await browser.close();
      server.close();
    },
  };
}
