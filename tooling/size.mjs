// Bundles one function at a time for the browser and compares its size, minified and gzipped, the packages that came
// along and the modules that must stay out with a budget. Needs a build. `npm run size -- NAME` lists the minified
// bytes of each module behind one function. The sizes in the README are held to what is measured.
import { readFileSync } from "node:fs";
import { budgets, bundle, moduleOf } from "./bundle.mjs";

const [explained] = process.argv.slice(2);
if (explained) {
  const { from } = budgets.find(({ names }) => names?.includes(explained)) ?? { from: "tensorjar" };
  const { size, inputs } = await bundle(moduleOf({ names: [explained], from }));
  console.table(inputs.sort(([, a], [, b]) => b - a));
  console.log(`${explained}: ${size} bytes gzipped`);
  process.exit();
}

const rows = [];
let failed = false;
for (const budget of budgets) {
  const { names, from, bytes, now = bytes, packages, without } = budget;
  const { size, later, inputs: modules } = await bundle(moduleOf(budget));
  const inputs = modules.map(([path]) => path);
  const pulled = [...new Set(inputs.map(packageOf))].sort();
  const problems = [
    ...(size > now ? [`${size - now} bytes over`] : []),
    ...pulled.filter((name) => !packages.includes(name)).map((name) => `pulls in ${name}`),
    ...inputs.filter((input) => without?.test(input)).map((input) => `contains ${input}`),
  ];
  rows.push({
    bundle: names ? names.join(" + ") : `everything of ${from}`,
    "gzip bytes": size,
    later: later || "",
    aim: bytes,
    packages: pulled.join(" "),
    verdict: problems.join(", ") || (size > bytes ? `aim missed, within ${now}` : "ok"),
  });
  failed ||= problems.length > 0;
}
console.table(rows);

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
for (const [, name, quoted] of readme.matchAll(/^\| \[`([^`]+)`\].*\| (\d+) kB \|$/gm)) {
  const { size } = await bundle(moduleOf({ from: name }));
  const right = Math.round(size / 1000);
  // The last digit may be one off, so that a change of some bytes is no change of the README.
  if (Math.abs(size / 1000 - Number(quoted)) > 1) {
    failed = true;
    console.log(`README.md says ${quoted} kB of ${name}: it is ${right} kB`);
  }
}
process.exitCode = failed ? 1 : 0;

function packageOf(path) {
  return (
    /^packages\/(\w+)\//.exec(path)?.[1] ??
    /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ??
    path
  );
}
