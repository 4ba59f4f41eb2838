// Installs the tarballs that lone-install.mjs packed into one empty project, as a user would, and runs README's first
// example and one call of each package: on every runtime, and in Chromium from an esbuild and a Vite bundle, in a page
// and in a worker.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { chromium } from "playwright";
import * as vite from "vite";
import { chromiumOptions } from "./chromium.mjs";
import { packed, run } from "./pack.mjs";
import { commandOf, runtimes } from "./runtimes.mjs";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const [, example] = /```js\n([\s\S]*?)```/.exec(readFileSync(path("../README.md"), "utf8"));

const folder = mkdtempSync(`${tmpdir()}/tensorjar-`);
let failed = false;
try {
  const dependencies = Object.fromEntries(
    [...packed()].map(([name, file]) => [name, `file:${file}`]),
  );
  const project = { private: true, type: "module", dependencies, overrides: dependencies };
  writeFileSync(`${folder}/package.json`, JSON.stringify(project));
  run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder });
  cpSync(path("smoke.js"), `${folder}/smoke.js`);
  writeFileSync(`${folder}/example.js`, example);
  writeFileSync(
    `${folder}/main.js`,
    'import { smoke } from "./smoke.js";\nconsole.log(JSON.stringify(await smoke()));\n',
  );
  for (const runtime of runtimes) {
    const [command, ...args] = commandOf(runtime);
    await report(`example on ${runtime}`, () => {
      rmSync(`${folder}/runs`, { recursive: true, force: true });
      run(command, [...args, "example.js"], { cwd: folder });
    });
    await report(`calls on ${runtime}`, () =>
      run(command, [...args, "main.js"], { cwd: folder }).trim(),
    );
  }
  await inChromium();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;

async function report(what, action) {
  try {
    const result = await action();
    const wrong = Object.entries(result ? JSON.parse(result) : {}).filter(([, held]) => !held);
    if (wrong.length > 0)
      throw new Error(`not the same array: ${wrong.map(([name]) => name).join(", ")}`);
    console.log(`${what}: ok`);
  } catch (error) {
    failed = true;
    console.log(`${what}: ${error.message}`);
  }
}

async function inChromium() {
  const entry = `${folder}/browser.js`;
  writeFileSync(
    entry,
    `import { smoke } from "./smoke.js";
smoke().then(JSON.stringify, (error) => JSON.stringify({ [String(error.stack)]: false })).then((text) =>
  typeof document === "undefined" ? postMessage(text) : (document.title = text));`,
  );
  const bundles = {
    esbuild: async () => {
      const options = {
        entryPoints: [entry],
        bundle: true,
        format: "esm",
        platform: "browser",
        write: false,
      };
      return (await esbuild.build(options)).outputFiles[0].text;
    },
    vite: async () => {
      const built = await vite.build({
        root: folder,
        logLevel: "error",
        build: { write: false, lib: { entry, formats: ["es"] } },
      });
      return [built].flat()[0].output[0].code;
    },
  };
  const browser = await chromium.launch(chromiumOptions);
  try {
    for (const [name, bundle] of Object.entries(bundles)) {
      const code = await bundle();
      const server = createServer((request, response) => {
        const script = request.url.endsWith(".js");
        response.setHeader("content-type", script ? "text/javascript" : "text/html");
        response.end(script ? code : page(request.url === "/worker"));
      });
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      for (const place of ["page", "worker"]) {
        await report(`${name} bundle in a ${place}`, async () => {
          const tab = await browser.newPage();
          await tab.goto(`http://127.0.0.1:${server.address().port}/${place}`);
          await tab.waitForFunction(() => document.title !== "");
          return tab.title();
        });
      }
      await new Promise((resolve) => server.close(resolve));
    }
  } finally {
    await browser.close();
  }
}

function page(worker) {
  const start = worker
    ? 'new Worker("/bundle.js", { type: "module" }).onmessage = ({ data }) => (document.title = data);'
    : 'import "/bundle.js";';
  return `<!doctype html><script type="module">${start}</script>`;
}
