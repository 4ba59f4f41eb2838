// Puts figures of RESULTS.md into the README: node bench/readme.mjs, after a full run of npm run bench.
import { readFileSync, writeFileSync } from "node:fs";

/** The targets, by their numbers in targets.json, that say most to who chooses a library. */
const chosen = [1, 2, 3, 4, 5, 6, 8, 9, 11, 13, 17, 18];

const at = (path) => new URL(path, import.meta.url);
const results = readFileSync(at("./RESULTS.md"), "utf8");
const rows = chosen.map((number) => {
  const [, figure, measured] =
    new RegExp(`^\\| ${number} \\| (.*?) \\| (.*?) \\|`, "m").exec(results) ?? [];
  if (measured === undefined) throw new Error(`RESULTS.md has no figure ${number}`);
  return `| ${figure} | ${measured} |`;
});

const readme = readFileSync(at("../README.md"), "utf8");
const place = /(<!-- figures of .*? -->\n)[\s\S]*?(<!-- end of figures -->)/;
if (!place.test(readme)) throw new Error("the README has no place for figures");
const table = ["| figure | measured |", "|---|---|", ...rows, ""].join("\n");
writeFileSync(
  at("../README.md"),
  readme.replace(place, (_, start, end) => `${start}\n${table}\n${end}`),
);
