// Adds up the JSON reports of the test runs in a folder: a table of runtime × package, then the line that closes CI.
import { readdirSync, readFileSync } from "node:fs";
import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const [folder] = process.argv.slice(2);
const table = {};
let passed = 0;
let failed = 0;

for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  const report = JSON.parse(readFileSync(`${folder}/${file}`, "utf8"));
  const row = {};
  for (const { name, assertionResults, status } of report.testResults) {
    const [top, second] = relative(root, name).split("/");
    const group = top === "packages" ? second : top;
    const count = (wanted) => assertionResults.filter((test) => test.status === wanted).length;
    row[group] = (row[group] ?? 0) + count("passed");
    passed += count("passed");
    // A file that does not load has no tests, and has failed all the same.
    failed += count("failed") || (status === "failed" ? 1 : 0);
  }
  table[basename(file, ".json")] = row;
}

console.log("\nTests passed by runtime and package:");
console.table(table);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
