// Ours against peers and the raw limit: npm run bench -- [--quick] [--check] [--only TEXT] [--linear]
//   --quick   what has a target, at a sixteenth of the sizes or a quarter, 11 pairs: under three minutes
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
import { median, quantile } from "./numbers.mjs";
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

/** Part of a target → the figure measured for it, and the least that it is for certain; the worst one counts. */
const parts = {};
const record = (part, value, least = value) => {
  const { value: v, least: l } = parts[part] ?? { value: -Infinity, least: -Infinity };
  parts[part] = { value: Math.max(v, value), least: Math.max(l, least) };
};
const targets = read("./targets.json");
const accepted = read("./accepted.json");
const binding = targets.filter(({ number }) => !(number in accepted));
const limits = Object.assign({}, ...binding.map(({ parts }) => parts));
const groups = [];
let linear = [];

try {
  if (options.linear) {
    linear = await growth(root, plan);
    console.log(growthTable(linear));
  } else {
    for (const suite of [safetensors, npz, npy, numbers, trees])
      await measure(suite(scale, Math.max(scale, 1 / 4)));
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

const judged = verdicts(targets, parts, accepted);
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

/** The ratios of the pairs of all that were measured. */
function ratiosOf(samples, compared) {
  return compared
    .filter(({ of, by }) => samples[of] && samples[by])
    .map((row) => {
      const values = samples[row.of].map(({ ms }, i) => ms / samples[row.by][i].ms);
      return { ...row, values, least: quantile(values, options.quick ? 0.25 : 0.5) };
    });
}

/** What is over its target is measured again, by new processes, up to two times; all pairs count. */
async function measure(suite) {
  const folder = mkdtempSync(join(root, "suite-"));
  for (const { title, prepare, contestants, rows, figures, ...own } of suite) {
    if (options.only !== undefined && !title.includes(options.only)) continue;
    const wanted = rows.filter(({ part }) => part !== undefined || !options.quick);
    if (wanted.length === 0) continue;
    const pairs = options.quick ? plan.pairs : (own.pairs ?? plan.pairs);
    const rounds = { ...plan, ...own, pairs };
    const all = contestants(await prepare(folder));
    const compared = wanted.map(({ of = Object.keys(all)[0], by, part }) => ({ of, by, part }));
    const needed = (name) =>
      !options.quick || figures || compared.some(({ of, by }) => name === of || name === by);
    const taking = Object.fromEntries(Object.entries(all).filter(([name]) => needed(name)));
    const samples = {};
    let ratios;
    for (
      let times = 1;
      ratios === undefined ||
      (times <= 3 && ratios.some(({ part, least }) => least > limits[part]));
      times++
    ) {
      for (const [name, more] of Object.entries(await interleave(taking, rounds)))
        samples[name] = [...(samples[name] ?? []), ...more];
      ratios = ratiosOf(samples, compared);
    }
    for (const { part, values, least } of ratios)
      if (part !== undefined) record(part, median(values), least);
    for (const [part, value] of Object.entries(figures?.(samples) ?? {})) record(part, value);
    groups.push({ title, samples, ratios });
    console.error(`\n${title}\n${groupTable({ samples, ratios })}`);
  }
  rmSync(folder, { recursive: true });
}
