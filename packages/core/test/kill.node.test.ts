import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../tooling/folder.node.js";
import { random } from "../../../tooling/testing.js";

/** Each costs the start of a process; CI asks for more. */
const kills = Number(process.env["TENSORJAR_KILLS"] ?? 8);
const words = 300_000;

const folder = temporaryFolder();
const source = fileURLToPath(new URL("../src/file.node.ts", import.meta.url));

/** Saves to a path again and again: each file is one number, as often as it is long. A dot is said at every step. */
const savingProgram = `
  import { writeSync } from "node:fs";
  import { fileSink } from ${JSON.stringify(source)};
  const [path, first] = process.argv.slice(-2);
  for (let value = Number(first); ; value++) {
    const sink = fileSink(path, { durable: value % 4 === 0 });
    const part = new Uint8Array(new Uint32Array(${words / 3}).fill(value).buffer);
    for (const step of [part, part, part, undefined]) {
      const done = step === undefined ? sink.close() : sink.write(step);
      writeSync(1, ".");
      await done;
    }
  }
`;

beforeAll(async () => {
  await build({
    stdin: { contents: savingProgram, resolveDir: folder.path(), loader: "ts" },
    outfile: folder.path("save.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["tensorjar-source"],
  });
});

/** Starts a process that saves numbers from `first` on, and kills it after so many steps. */
function saveAndDie(path: string, first: number, steps: number): Promise<NodeJS.Signals | null> {
  const run = "Deno" in globalThis ? ["run", "-A"] : [];
  const child = spawn(process.execPath, [...run, folder.path("save.mjs"), path, String(first)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let seen = 0;
  child.stdout.on("data", (dots: Uint8Array) => {
    seen += dots.length;
    if (seen >= steps) child.kill("SIGKILL");
  });
  return new Promise((resolve) => child.on("exit", (_, signal) => resolve(signal)));
}

test(`processes that are killed while they save to one path (${kills}) leave a whole file`, async () => {
  const rng = random(20);
  const path = folder.path("model");
  fs.writeFileSync(path, new Uint8Array(new Uint32Array(words).fill(7).buffer));
  const left = new Set<number>();
  for (let killed = 0; killed < kills; killed += 2) {
    const signals = await Promise.all(
      [1, 2].map((writer) => saveAndDie(path, 1_000 * (killed + writer), 1 + rng.below(20))),
    );
    expect(signals).toEqual(["SIGKILL", "SIGKILL"]);
    const content = new Uint32Array(Uint8Array.from(fs.readFileSync(path)).buffer);
    const [value = 0] = content;
    expect(content.length).toBe(words);
    expect(content.every((word) => word === value)).toBe(true);
    left.add(value);
    for (const name of folder.list()) {
      expect(name).toMatch(/^(model|save\.mjs|\.tensorjar-\d+-[\da-f-]{36}\.tmp)$/);
      if (name.startsWith(".")) fs.rmSync(folder.path(name));
    }
  }
  expect(left.size).toBeGreaterThan(1); // it was the saving that was killed, not the start
}, 120_000);
