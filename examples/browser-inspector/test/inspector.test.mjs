// The built page in Chromium, driven as its users do: with files, addresses, keys, and without a network.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright";
import { load, toFloat32 } from "tensorjar";
import { build } from "vite";
import { chromiumOptions } from "../../../tooling/chromium.mjs";
import { arrays, hugeShape, manyTensors, spread, writeFiles } from "./files.mjs";
import { serve } from "./servers.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const cases = fileURLToPath(new URL("../../../cases/", import.meta.url));

let folder;
let site;
let browser;
/** What pages said that nobody should have to read: errors, and what the content security policy stopped. */
const complaints = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "browser-inspector-"));
  await writeFiles(folder);
  await build({ root, logLevel: "error" });
  site = await serve(join(root, "dist"));
  browser = await chromium.launch(chromiumOptions);
});

after(async () => {
  await browser?.close();
  site?.close();
  await rm(folder, { recursive: true, force: true });
  assert.deepEqual(complaints, []);
});

async function newPage({ width = 1280, height = 800, dark = false } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // That a server refuses is what some tests are about; the browser says so as well.
    if (message.type() === "error" && !/CORS|ERR_FAILED|404/.test(message.text()))
      complaints.push(message.text());
  });
  await page.goto(`${site.url}/`);
  return page;
}

async function withPage(options, action) {
  const page = await newPage(options);
  try {
    await action(page);
  } finally {
    await page.context().close();
  }
}

const made = (name) => join(folder, name);

async function openFiles(page, ...paths) {
  await page.setInputFiles("#files", paths);
  await opened(page, basename(paths[0]));
}

async function openUrl(page, url) {
  await page.getByLabel("or an address").fill(url);
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await opened(page, basename(url));
}

/** Waits for a file to be shown, or for the reason why it is not. */
async function opened(page, name) {
  const heading = page.getByRole("heading", { name, exact: true });
  await heading.or(page.locator("main > div > [role=alert]", { hasText: name })).waitFor();
}

/** Chooses a tensor and waits until its heat map, its value or its values are there. */
async function choose(page, name) {
  await page.getByLabel("Search").fill(name);
  await page.getByRole("option").first().click();
  await page.getByRole("article", { name }).waitFor();
  await page.locator("article .map, article .value, article .scrolled").first().waitFor();
}

/** Waits for a heat map that is being read. */
const settled = (page) => page.locator(".heat-map [aria-busy]").waitFor({ state: "detached" });

const alert = async (page) => (await page.getByRole("alert").first().textContent()).trim();
const bytesRead = (page) => page.locator("[data-read]").getAttribute("data-read").then(Number);
const fact = async (page, name) =>
  page
    .locator("article .statistics .numbers div", { has: page.locator(`dt:text-is("${name}")`) })
    .first()
    .locator("dd")
    .textContent();

async function download(page, kind) {
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: `.${kind}` }).click();
  const path = made(`got-${(await waiting).suggestedFilename()}`);
  await (await waiting).saveAs(path);
  return load(path);
}

/** What axe finds wrong, in a few words each. */
async function violations(page) {
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run());
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`),
  );
}

describe("a file", () => {
  test("of safetensors: tensors, metadata, statistics, histogram and heat map", () =>
    withPage({}, async (page) => {
      await openFiles(page, made("model.safetensors"));
      assert.equal(await page.getByRole("option").count(), Object.keys(arrays).length);
      await page.getByText("Metadata (2)").click();
      assert.match(
        await page.locator(".metadata").textContent(),
        /a made-up model\nwith two lines/,
      );

      await choose(page, "layers.0.attention.weight");
      await page.locator("article canvas[role=img]").waitFor();
      const values = arrays["layers.0.attention.weight"].data;
      const mean = values.reduce((a, b) => a + b, 0) / values.length;
      const sorted = values.slice().sort();
      assert.equal(Number(await fact(page, "min")), Number(sorted[0].toPrecision(5)));
      assert.equal(Number(await fact(page, "max")), Number(sorted.at(-1).toPrecision(5)));
      assert.ok(Math.abs(Number(await fact(page, "mean")) - mean) < 1e-7);
      await page.getByText("Counts as a table").click();
      const counts = await page
        .getByRole("region", { name: "Counts" })
        .locator("td")
        .allTextContents();
      const total = counts.reduce((sum, text) => sum + Number(text.replaceAll(",", "")), 0);
      assert.equal(total, values.length);
    }));

  test("as the heat map shows it: any axes, any index, sampled and zoomed, each cell the right number", () =>
    withPage({}, async (page) => {
      const output = page.locator("article output");
      const shown = async () => {
        const [index, value] = (await output.textContent()).split(" = ");
        return [JSON.parse(index), Number(value)];
      };
      for (const file of ["model.safetensors", "arrays.npz"]) {
        await openFiles(page, made(file));
        await choose(page, "layers.0.conv.weight");
        const { data, shape } = arrays["layers.0.conv.weight"];
        const agrees = async () => {
          const [index, value] = await shown();
          const flat = index.reduce((sum, at, axis) => sum * shape[axis] + at, 0);
          assert.equal(value, Number(data[flat].toPrecision(5)), `${file} ${index}`);
          return index;
        };
        await page.getByLabel("Index on axis 0").fill("5");
        await page.keyboard.press("Tab");
        await page.locator("output", { hasText: "[5, 0, 0, 0]" }).waitFor();
        await page.getByRole("application").press("End");
        await page.getByRole("application").press("ArrowDown");
        assert.deepEqual(await agrees(), [5, 0, 1, 29]);
        // Rows and columns change places, then the columns go along another axis.
        await page.getByLabel("Rows").selectOption("3");
        await settled(page);
        await page.getByLabel("Columns").selectOption("1");
        await settled(page);
        await page.getByRole("application").press("PageDown");
        await page.getByRole("application").press("End");
        assert.deepEqual(await agrees(), [5, 2, 1, 29]);
      }

      await openFiles(page, made("matrix.npy"));
      await page.locator("p", { hasText: "columns 0 to 1020 in steps of 4" }).waitFor();
      await page.getByRole("application").press("ArrowRight");
      const { data } = arrays["layers.0.attention.weight"];
      assert.deepEqual(await shown(), [[0, 4], Number(data[4].toPrecision(5))]);
      await page.getByRole("application").press("End");
      await page.getByRole("button", { name: "Zoom to the cursor" }).click();
      await page.locator("p", { hasText: "columns 992 to 1023" }).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement?.className), "map");
      assert.deepEqual(await shown(), [[0, 1020], Number(data[1020].toPrecision(5))]);
      await page.getByText("Values as a table").click();
      const row = page.getByRole("region", { name: "Values" }).getByRole("row", { name: /^1 / });
      assert.equal(
        Number(await row.locator("td").first().textContent()),
        Number(data[1024 + 1016].toPrecision(5)),
      );
    }));

  test("with numbers of every kind: exact integers, complex numbers, scalars, NaNs, text and records", () =>
    withPage({}, async (page) => {
      await openFiles(page, made("model.safetensors"));
      await choose(page, "tokens.ids");
      assert.equal(await fact(page, "max"), "9007199254740993");
      assert.doesNotMatch(await page.locator(".legend").textContent(), /NaN/);
      await choose(page, "tokens.phases");
      assert.equal(await page.locator("article output").textContent(), "[0, 0] = 5");
      await choose(page, "step");
      assert.equal(await page.locator(".value").textContent(), "12.5");
      await choose(page, "conv.damaged");
      assert.equal(await fact(page, "NaN"), "1");
      assert.match(await page.locator(".legend").textContent(), /pink: NaN or infinite/);
      await page.getByText("2 numbers of 4 are NaN or infinite.").waitFor();
      for (const [name, text] of [
        ["npy/npy-string-u5.npy", /"/],
        ["npy/npy-struct-nested.npy", /\(1, 0\)/],
        ["npy/npy-datetime64-day-big-endian.npy", /D/],
        ["npy/npy-void-v1-float8.npy", /[0-9a-f]{2}/],
      ]) {
        await openFiles(page, join(cases, name));
        const values = page.getByRole("region", { name: /values/ });
        assert.match(await values.textContent(), text, name);
      }
      for (const name of ["npy-fortran-int32-3d.npy", "npy-be-int32-2x3.npy"]) {
        const [array] = (await load(join(cases, "npy", name))).tensors.values();
        await openFiles(page, join(cases, "npy", name));
        await page.locator(".map").waitFor();
        await page.getByRole("application").press("End");
        const last = array.data[array.shape.at(-1) - 1];
        assert.match(
          await page.locator("article output").textContent(),
          new RegExp(`= ${last}$`),
          name,
        );
      }
    }));

  test("of 100,000 tensors: few of them in the page, found by name, by type and by shape", () =>
    withPage({}, async (page) => {
      await openFiles(page, made("many.safetensors"));
      const options = page.getByRole("option");
      const last = `block.${manyTensors - 1}.scale`;
      assert.equal(await options.first().getAttribute("aria-setsize"), String(manyTensors));
      assert.ok((await options.count()) < 60);
      await page.locator(".list").evaluate((list) => {
        list.scrollTop = list.scrollHeight;
      });
      await page.getByRole("option", { name: last }).waitFor();
      assert.ok((await options.count()) < 60);
      await page.getByLabel("Search").fill("block.4242 float32 [1]");
      await page.getByText(`10 of 100,000 tensors`).waitFor();
      assert.equal(await options.count(), 10);
      await page.getByLabel("Search").fill("no such tensor");
      await page.getByText("0 of 100,000 tensors").waitFor();
      assert.deepEqual(await violations(page), []);
    }));

  test("of 6 GiB: opened by its header, shown by its slices", () =>
    withPage({}, async (page) => {
      await openFiles(page, made("huge.safetensors"));
      await page.locator(".map").waitFor();
      assert.ok((await bytesRead(page)) < 2 << 20);
      await page.getByRole("button", { name: "Compute (reads 6.00 GiB, twice)" }).waitFor();
      const last = hugeShape[1] - 5;
      await page.getByLabel("Row from").fill(String(last));
      await page.keyboard.press("Tab");
      await page.locator("output", { hasText: `[0, ${last}, 0] = 0` }).waitFor();
      await page.getByRole("button", { name: ".npy" }).click();
      assert.match(await alert(page), /limit-exceeded.*take it as safetensors/);
      assert.ok((await bytesRead(page)) < 3 << 20);

      // Across the last axis every cell is read by itself, so that there are fewer.
      await page.getByRole("button", { name: "Whole slice" }).click();
      await page.getByLabel("Rows").selectOption("0");
      await page.getByLabel("Columns").selectOption("1");
      await page.getByLabel("Index on axis 2").fill("7");
      await page.keyboard.press("Tab");
      await page
        .getByText("Rows 0 to 992 in steps of 32; columns 0 to 1488 in steps of 48")
        .waitFor();
      await settled(page);
      const map = page.getByRole("application");
      await map.press("Home");
      await map.press("PageUp");
      const rounded = (number) => Number(number.toPrecision(5));
      const shown = page.locator("article output");
      assert.equal(await shown.textContent(), `[0, 0, 7] = ${rounded(spread(8)[7])}`);
      for (let i = 0; i < 16; i++) {
        await map.press("ArrowDown");
        await map.press("ArrowRight");
      }
      assert.equal(await shown.textContent(), `[512, 768, 7] = ${rounded(spread(8, 1)[7])}`);

      await page.getByRole("button", { name: "Verify all" }).click();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("Verifying was cancelled.").waitFor();
    }));

  test("of a sharded model: the index and its shards together", () =>
    withPage({}, async (page) => {
      const index = made("sharded.safetensors.index.json");
      const { weight_map } = JSON.parse(await readFile(index, "utf8"));
      const shards = [...new Set(Object.values(weight_map))];
      assert.ok(shards.length > 1);
      await openFiles(page, index, ...shards.map(made));
      await choose(page, "layers.0.attention.bias");
      await page.locator(".map").waitFor();
      await openFiles(page, index);
      await page.getByRole("option").first().click();
      assert.match(await alert(page), /not-found/);
      // One word about each shard that is not there, none about numbers that nobody read.
      await page.getByRole("button", { name: "Verify all" }).click();
      const faults = page.locator(".health [role=alert]");
      await faults.first().waitFor();
      assert.equal(await faults.count(), shards.length);
      assert.match(await faults.last().textContent(), / and \d more: it is not there/);
      assert.equal(await page.getByText("No NaN and no infinity").count(), 0);
    }));

  test("dropped on the page", () =>
    withPage({}, async (page) => {
      const bytes = [...(await readFile(join(cases, "npz/npz-arr-0.npz")))];
      const transfer = await page.evaluateHandle((given) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(given)], "dropped.npz"));
        return data;
      }, bytes);
      await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
      await page.getByRole("heading", { name: "dropped.npz" }).waitFor();
    }));
});

describe("a checkpoint", () => {
  test("of ours: moments beside their parameter", () =>
    withPage({}, async (page) => {
      await openFiles(page, made("checkpoint.safetensors"));
      assert.match(
        await page.locator(".file").textContent(),
        /step\s*700[\s\S]*adam[\s\S]*loss\s*0.125/,
      );
      const names = await page.getByRole("option").locator(".name").allTextContents();
      assert.deepEqual(names.slice(0, 3), [
        "param/encoder.bias",
        "optimizer/adam/encoder.bias/exp_avg",
        "optimizer/adam/encoder.bias/exp_avg_sq",
      ]);
      await choose(page, "param/encoder.weight");
      const cards = page.locator(".card");
      assert.deepEqual(await cards.locator("h4").allTextContents(), [
        "exp_avg (adam)",
        "exp_avg_sq (adam)",
      ]);
      await cards.first().locator("canvas").waitFor();
      await cards.first().getByRole("button", { name: "exp_avg (adam)" }).click();
      await page.getByRole("article", { name: "optimizer/adam/encoder.weight/exp_avg" }).waitFor();
      await page.getByRole("button", { name: "Verify all" }).click();
      await page.getByText("every checksum fits").waitFor();
    }));

  test("of the gsplat gem", () =>
    withPage({}, async (page) => {
      await openFiles(page, join(cases, "checkpoint/ckpt-trainer-sh1.npz"));
      await choose(page, "param___means");
      assert.deepEqual(await page.locator(".card h4").allTextContents(), [
        "step (means)",
        "exp_avg (means)",
        "exp_avg_sq (means)",
      ]);
    }));

  test("with a flipped bit", () =>
    withPage({}, async (page) => {
      const bytes = await readFile(made("checkpoint.safetensors"));
      bytes[bytes.length - 3] ^= 1;
      await writeFile(made("flipped.safetensors"), bytes);
      await openFiles(page, made("flipped.safetensors"));
      await page.getByRole("button", { name: "Verify all" }).click();
      assert.match(await alert(page), /The data is damaged[\s\S]*checksum-mismatch/);
      assert.doesNotMatch(await alert(page), /verify: false/); // a page has no options
    }));
});

test("a damaged file is explained in words", () =>
  withPage({}, async (page) => {
    for (const [name, title, code] of [
      ["safetensors/st-download-5-bytes-short.safetensors", "the file is cut short", "truncated"],
      ["safetensors/st-html-page.safetensors", "this is not a file of tensors", "not-this-format"],
      ["safetensors/st-overlap-nested.safetensors", "not where the header says", "invalid-offsets"],
      ["npy/npy-truncated-1-byte.npy", "the file is cut short", "truncated"],
      ["npy/npy-trailing-8-bytes.npy", "there is more after the end", "trailing-bytes"],
      ["npy/npy-object-pickle.npy", "cannot be shown here", "unsupported"],
      ["npz/npz-overlap-quoted.npz", "the archive is damaged", "invalid-archive"],
    ]) {
      await openFiles(page, join(cases, name));
      const text = await alert(page);
      assert.ok(text.includes(title), text);
      assert.ok(text.includes(code), text);
      // Whoever hits on a damaged file can go on with another one.
      await openFiles(page, made("matrix.npy"));
      assert.equal(await page.getByRole("alert").count(), 0);
    }

    // The good array of an archive can be looked at, the bad one is named.
    await openFiles(page, join(cases, "npz/npz-crc-one-of-two.npz"));
    await page.getByRole("button", { name: "Verify all" }).click();
    assert.match(await alert(page), /the data is damaged[\s\S]*checksum-mismatch/);
    assert.equal(await page.getByRole("alert").count(), 1);
  }));

describe("an address", () => {
  test("of another server: only what is looked at is sent", () =>
    withPage({}, async (page) => {
      const server = await serve(folder);
      try {
        await openUrl(page, `${server.url}/huge.safetensors`);
        await page.locator(".map").waitFor();
        assert.ok(server.sent.bytes < 16 << 20, `${server.sent.bytes} bytes were sent`);
        await openUrl(page, `${server.url}/arrays.npz`);
        await choose(page, "tokens.ids");
        await openUrl(page, `${server.url}/sharded.safetensors.index.json`);
        await choose(page, "layers.0.attention.bias");
        await openUrl(page, `${server.url}/nothing.npy`);
        assert.match(await alert(page), /not-found/);
      } finally {
        server.close();
      }
    }));

  test("of a server that does not let other sites read", () =>
    withPage({}, async (page) => {
      const server = await serve(folder, { cors: false });
      try {
        await openUrl(page, `${server.url}/matrix.npy`);
        assert.match(await alert(page), /does not let other sites read it \(CORS\)/);
      } finally {
        server.close();
      }
    }));

  test("of a server that knows no ranges", () =>
    withPage({}, async (page) => {
      const server = await serve(folder, { ranges: false });
      try {
        await openUrl(page, `${server.url}/matrix.npy`);
        await page.getByText("does not send parts of files (ranges), so the whole file").waitFor();
        await openUrl(page, `${server.url}/huge.safetensors`);
        assert.match(await alert(page), /ignores ranges[\s\S]*download it/);
      } finally {
        server.close();
      }
    }));
});

describe("downloads hold the same numbers", () => {
  // Each on a page of its own: after ten downloads Chromium asks the user about more.
  for (const name of ["layers.0.conv.weight", "tokens.ids", "step", "embed.weight"]) {
    test(name, () =>
      withPage({}, async (page) => {
        await openFiles(page, made("model.safetensors"));
        await choose(page, name);
        const expected = arrays[name];
        const wide = { dtype: "float32", shape: expected.shape, data: toFloat32(expected) };
        const inNumpy = expected.dtype === "bfloat16" ? wide : expected;
        assert.deepEqual((await download(page, "npy")).tensors.get(""), inNumpy);
        assert.deepEqual((await download(page, "npz")).tensors.get(name), inNumpy);
        assert.deepEqual((await download(page, "safetensors")).tensors.get(name), expected);
      }),
    );
  }

  test("of a dtype that safetensors lacks are refused in words", () =>
    withPage({}, async (page) => {
      await openFiles(page, join(cases, "npy/npy-string-u5.npy"));
      await page.getByRole("button", { name: ".safetensors" }).click();
      assert.match(await alert(page), /safetensors has no dtype for string/);
    }));
});

test("keys alone do everything", () =>
  withPage({}, async (page) => {
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const chooser = page.waitForEvent("filechooser"); // before anything is awaited: the browser must know by then
    await press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "files");
    await press(" ");
    await (await chooser).setFiles(made("many.safetensors"));
    await page.locator(".list").waitFor();
    await page.getByLabel("Search").focus();
    await press("Tab");
    assert.match(await focused(), /^block\.00000\.scale/);
    await press("ArrowDown", "ArrowDown", "ArrowUp");
    assert.match(await focused(), /^block\.00001\.scale/);
    await press("PageDown");
    assert.match(await focused(), /^block\.000[01]\d\.scale/);
    await press("End");
    assert.match(await focused(), /^block\.99999\.scale/);
    await press("PageUp", "Enter");
    await page.getByRole("article", { name: /^block\.999\d\d\.scale$/ }).waitFor();
    assert.match(await focused(), /^block\.999\d\d\.scale/);
    await press("Home", " ");
    await page.getByRole("article", { name: "block.00000.scale" }).waitFor();
    await press("Tab");
    assert.equal(await focused(), ".npy");
  }));

test("without a network the page does all it does with files", () =>
  withPage({}, async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.context().setOffline(true);
    await openFiles(page, made("arrays.npz"));
    await choose(page, "layers.0.attention.weight");
    await page.locator("article canvas[role=img]").waitFor();
    await download(page, "npy");
    await page.getByRole("button", { name: "Verify all" }).click();
    await page.getByText("every checksum fits").waitFor();
    assert.deepEqual(
      asked.filter((url) => !url.startsWith("blob:")),
      [],
    );
  }));

test("everything the page is made of comes from its own server", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).origin));
  await page.goto(`${site.url}/`, { waitUntil: "networkidle" });
  assert.deepEqual([...new Set(asked)], [site.url]);
  await context.close();
});

describe("axe finds nothing wrong", () => {
  for (const [name, options] of [
    ["light", {}],
    ["dark", { dark: true }],
    ["narrow", { width: 320, height: 640 }],
    ["narrow and dark", { width: 320, height: 640, dark: true }],
  ]) {
    test(name, () =>
      withPage(options, async (page) => {
        await openFiles(page, made("checkpoint.safetensors"));
        await choose(page, "param/encoder.weight");
        await page.locator(".card canvas").last().waitFor();
        for (const summary of await page.locator("summary").all()) await summary.click();
        await page.getByRole("button", { name: "Verify all" }).click();
        await page.getByText("every checksum fits").waitFor();
        assert.deepEqual(await violations(page), []);
        const fits = await page.evaluate(
          () => document.documentElement.scrollWidth <= document.documentElement.clientWidth,
        );
        assert.ok(fits, "the page is wider than its window");
        await openFiles(page, join(cases, "safetensors/st-html-page.safetensors"));
        assert.deepEqual(await violations(page), []);
      }),
    );
  }
});
