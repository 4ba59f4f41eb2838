// Ours against peers and the raw limit: npm run bench -- [--quick] [--check] [--only TEXT] [--linear]
//   --quick   a sixteenth of the sizes, 11 pairs: under three minutes
//   --check   one line per target of targets.json; the exit code is 1 when one is missed
//   --scale   another part of the sizes, such as 0.25; nothing is written
//   --only    groups whose title has TEXT in it; nothing is written
//   --linear  only whether cost grows linearly; nothing is written
// A full run of everything writes RESULTS.md.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { interleave } from "./contestants.mjs";
import { growth } from "./linear.mjs";
import { median } from "./numbers.mjs";
import { excessReads } from "./reads.mjs";
import { groupTable, growthTable, targetTable, verdicts } from "./report.mjs";
import { gzippedSizes } from "./sizes.mjs";
import npy from "./suites/npy.mjs";
import npz from "./suites/npz.mjs";
import numbers from "./suites/numbers.mjs";
import safetensors from "./suites/safetensors.mjs";
import trees from "./suites/trees.mjs";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    only: { type: "string" },
    linear: { type: "boolean", default: false },
    scale: { type: "string" },
  },
});
const scale = options.scale === undefined ? (options.quick ? 1 / 16 : 1) : Number(options.scale);
const plan = { pairs: options.quick ? 11 : 7, warmUps: 2, warmMs: 200 };
const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));

const root = mkdtempSync(join(tmpdir(), "tensorjar-bench-"));
const clean = () => rmSync(root, { recursive: true, force: true });
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    clean();
    process.exit(1);
  });
}

/** Part of a target → the figures measured for it; the worst one counts. */
const parts = {};
const record = (part, value) => {
  parts[part] = Math.max(parts[part] ?? Number.NEGATIVE_INFINITY, value);
};
const groups = [];
let linear = [];

try {
  if (options.linear) {
    linear = await growth(root, plan);
    console.log(growthTable(linear));
  } else {
    for (const suite of [safetensors, npz, npy, numbers, trees]) await measure(suite(scale));
    if (options.only === undefined) {
      const found = {
        ...(await excessReads(mkdtempSync(join(root, "reads-")))),
        ...(await gzippedSizes()),
      };
      for (const [part, value] of Object.entries(found)) record(part, value);
      if (!options.quick) linear = await growth(mkdtempSync(join(root, "linear-")), plan);
    }
  }
} finally {
  clean();
}

const judged = verdicts(read("./targets.json"), parts, read("./accepted.json"));
if (options.check) {
  for (const { number, figure, target, verdict } of judged) {
    console.log(`${String(number).padStart(2)}  ${figure}  (${target})  ${verdict}`);
  }
  if (judged.some(({ verdict }) => verdict === "missed")) process.exitCode = 1;
}
if (scale === 1 && options.only === undefined && !options.linear) {
  const text = [
    "# What was measured",
    "",
    readFileSync(new URL("./method.md", import.meta.url), "utf8"),
    "## Targets",
    "",
    targetTable(judged),
    "",
    "## Growth",
    "",
    growthTable(linear),
    "",
    ...groups.flatMap((group) => [`## ${group.title}`, "", groupTable(group), ""]),
  ];
  writeFileSync(new URL("./RESULTS.md", import.meta.url), text.join("\n"));
}

async function measure(suite) {
  const folder = mkdtempSync(join(root, "suite-"));
  for (const { title, prepare, contestants, rows, figures, ...own } of suite) {
    if (options.only !== undefined && !title.includes(options.only)) continue;
    const pairs = options.quick ? plan.pairs : (own.pairs ?? plan.pairs);
    const rounds = { ...plan, ...own, pairs };
    const samples = await interleave(contestants(await prepare(folder)), rounds);
    const ratios = rows
      .map(({ of = Object.keys(samples)[0], by, part }) => ({ of, by, part }))
      .filter(({ of, by }) => samples[of] && samples[by])
      .map((row) => ({
        ...row,
        values: samples[row.of].map(({ ms }, i) => ms / samples[row.by][i].ms),
      }));
    for (const { part, values } of ratios) if (part !== undefined) record(part, median(values));
    for (const [part, value] of Object.entries(figures?.(samples) ?? {})) record(part, value);
    groups.push({ title, samples, ratios });
    console.error(`\n${title}\n${groupTable({ samples, ratios })}`);
  }
  rmSync(folder, { recursive: true });
}
