// Crashes a Chromium tab that trains and saves in the private file system, and checks every restart:
// node fuzz/kill-tab.mjs [--kills 20] [--seed 1]. CHROMIUM is the browser (default /usr/bin/chromium).
import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright";
import { chromiumOptions } from "../tooling/chromium.mjs";
import { options, random } from "./support/random.mjs";

const { kills, seed } = options({ kills: 20 });
const { below } = random(seed);
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("kill/page.mjs", import.meta.url))],
  bundle: true,
  write: false,
  format: "iife",
  platform: "browser",
  conditions: ["tensorjar-source"],
});
const server = createServer((_, response) => {
  response.setHeader("content-type", "text/html");
  response.end("<!doctype html><title>training</title>");
}).listen(0, "localhost");
await new Promise((resolve) => server.on("listening", resolve));

const browser = await chromium.launch(chromiumOptions);
const context = await browser.newContext();
let durable = 0;
let failure;

/** A tab that trains; `restored` resolves when it has gone on, `ended` when it is done or was crashed. */
async function open(saves) {
  const page = await context.newPage();
  let said = () => {};
  const restored = new Promise((resolve) => {
    said = resolve;
  });
  await page.exposeFunction("say", (word, step) => {
    if (word === "durable") durable = step;
    else said(step);
  });
  await page.goto(`http://localhost:${server.address().port}/`);
  await page.addScriptTag({ content: outputFiles[0].text });
  const crashed = new Promise((resolve) => {
    page.on("crash", resolve);
  });
  const training = page
    .evaluate((n) => globalThis.train(n, globalThis.say), saves)
    .catch((error) => {
      if (!/crash|closed/i.test(error.message)) failure ??= error;
      said();
    });
  return { page, restored, crashed, training };
}

try {
  for (let killed = 0; killed < kills; killed++) {
    const before = durable;
    const tab = await open(1000);
    const step = await tab.restored;
    if (failure !== undefined) throw failure;
    if (step < before || step > before + 1)
      throw new Error(`step ${before} was durable, ${step} was restored`);
    durable = Math.max(durable, step);
    await setTimeout(below(100));
    const devtools = await context.newCDPSession(tab.page);
    devtools.send("Page.crash").catch(() => {}); // there is nobody left to answer
    await tab.crashed;
    await tab.page.close();
    if (failure !== undefined) throw failure;
  }
  const last = await open(2);
  await last.training;
  if (failure !== undefined) throw failure;
  if (durable < 2) throw new Error("no tab ever saved");
  console.log(
    `${kills} crashed tabs: every restart found the last durable step or the one in flight`,
  );
} catch (error) {
  throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
} finally {
  await browser.close();
  server.close();
}
