// Changes the cases again and again, led by coverage: what reaches a new place in a parser is kept and changed further.
// Each input is read or refused with a TensorjarError, in time.
// node fuzz/guided.mjs [--count 100000] [--seed 1]; the packages must be built.
// A tool that did this (@jazzer.js/core 4.0.0) needs a C library that long-lived Linux systems lack.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import ts from "typescript-5.9";
import { outcomeOf } from "./support/outcomes.mjs";
import { options, random } from "./support/random.mjs";

const { count, seed } = options({ count: 100_000 });
const { below, pick } = random(seed);
const longest = 4096; // bytes of an input

/** Executions of each place since the last input; one place more than there are in the text stays 0. */
const counts = new Uint8Array(1 << 14);
globalThis.tensorjarCounts = counts;

/** Where a text of JavaScript may turn: every branch of it counts itself. */
function counting(text) {
  const file = ts.createSourceFile("bundle.js", text, ts.ScriptTarget.ES2022, true);
  const inserts = [];
  let places = 0;
  const insert = (at, code) => inserts.push([at, code]);
  const statement = (node) => {
    const mark = `tensorjarCounts[${places++}]++;`;
    if (ts.isBlock(node)) insert(node.getStart(file) + 1, mark);
    else {
      insert(node.getStart(file), `{${mark}`);
      insert(node.end, "}");
    }
  };
  const expression = (node) => {
    insert(node.getStart(file), `(tensorjarCounts[${places++}]++,`);
    insert(node.end, ")");
  };
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body !== undefined) {
      (ts.isBlock(node.body) ? statement : expression)(node.body);
    } else if (ts.isIfStatement(node)) {
      statement(node.thenStatement);
      if (node.elseStatement !== undefined) statement(node.elseStatement);
    } else if (ts.isIterationStatement(node, false)) statement(node.statement);
    else if (ts.isCaseOrDefaultClause(node) && node.statements.length > 0) {
      insert(node.statements[0].getStart(file), `tensorjarCounts[${places++}]++;`);
    } else if (ts.isConditionalExpression(node)) {
      expression(node.whenTrue);
      expression(node.whenFalse);
    } else if (
      ts.isBinaryExpression(node) &&
      [
        ts.SyntaxKind.AmpersandAmpersandToken,
        ts.SyntaxKind.BarBarToken,
        ts.SyntaxKind.QuestionQuestionToken,
      ].includes(node.operatorToken.kind)
    ) {
      expression(node.right);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  if (places >= counts.length) throw new Error(`${places} places, more than are counted`);
  // Of two at one place, what opens the outer one was found first and what closes it must come last.
  const closing = (code) => code === ")" || code === "}";
  const ordered = inserts
    .map(([at, code], order) => ({ at, code, order: closing(code) ? -order - 1 : order }))
    .sort((a, b) => a.at - b.at || a.order - b.order);
  let out = "";
  let from = 0;
  for (const { at, code } of ordered) {
    out += text.slice(from, at) + code;
    from = at;
  }
  return { code: out + text.slice(from), places };
}

const bundled = await build({
  stdin: {
    contents: `export { decodeNpy } from "@tensorjar/npy";
export { decodeNpz, openNpz } from "@tensorjar/npz";
export { decodeSafetensors, openShardedSafetensors } from "@tensorjar/safetensors";
export { inspectCheckpoint, verifyCheckpoint } from "@tensorjar/checkpoint";`,
    resolveDir: fileURLToPath(new URL("../", import.meta.url)),
  },
  bundle: true,
  format: "esm",
  platform: "node",
  write: false,
});

/** From a file: every error would hold the whole text of a `data:` URL in its stack. */
async function imported(text) {
  const folder = mkdtempSync(join(tmpdir(), "tensorjar-fuzz-"));
  try {
    const file = join(folder, "bundle.mjs");
    writeFileSync(file, text);
    return await import(pathToFileURL(file).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const { code, places } = counting(bundled.outputFiles[0].text);
const {
  decodeNpy,
  decodeNpz,
  decodeSafetensors,
  inspectCheckpoint,
  openNpz,
  openShardedSafetensors,
  verifyCheckpoint,
} = await imported(code);

const limits = { maxInflatedBytes: 1 << 20 };
const parsers = [
  { folder: "npy", read: (bytes) => decodeNpy(bytes) },
  { folder: "npz", read: (bytes) => decodeNpz(bytes, limits) },
  { folder: "npz", read: async (bytes) => (await openNpz(bytes, limits)).getAll() },
  { folder: "safetensors", read: (bytes) => decodeSafetensors(bytes) },
  { folder: "index", read: (bytes) => openShardedSafetensors(bytes, () => new Uint8Array(8)) },
  { folder: "checkpoint", read: (bytes) => inspectCheckpoint(bytes) },
  { folder: "checkpoint", read: (bytes) => verifyCheckpoint(bytes) },
];
for (const parser of parsers) {
  const folder = new URL(`../cases/${parser.folder}/`, import.meta.url);
  parser.corpus = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "README.md" && entry.name !== "cases.json")
    .map(({ name }) => new Uint8Array(readFileSync(new URL(name, folder))))
    .filter(({ length }) => length > 0 && length <= longest);
  /** For each place, a bit for every order of magnitude in which an input has reached it. */
  parser.seen = new Uint8Array(counts.length);
}

const numbers = [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

/** One to eight changes to one of the inputs: bits, bytes, numbers, and parts cut out, doubled or taken from another. */
function changed(corpus) {
  let bytes = pick(corpus).slice();
  for (let changes = 1 << below(4); changes > 0; changes--) {
    const at = below(bytes.length + 1);
    const view = new DataView(bytes.buffer);
    const kind = below(8);
    if (kind < 2 && at < bytes.length) bytes[at] ^= 1 << below(8);
    else if (kind === 2 && at < bytes.length) bytes[at] = below(256);
    else if (kind === 3 && at + 4 <= bytes.length) view.setUint32(at, pick(numbers), true);
    else if (kind === 4 && at + 2 <= bytes.length)
      view.setUint16(at, view.getUint16(at, true) + below(33) - 16, true);
    else {
      const other = kind < 7 ? bytes : pick(corpus);
      const from = below(other.length + 1);
      const part = kind === 5 ? [] : other.subarray(from, from + 1 + below(64));
      const rest = bytes.subarray(kind === 6 ? at : at + 1 + below(64));
      bytes = new Uint8Array([...bytes.subarray(0, at), ...part, ...rest]).subarray(0, longest);
      bytes = bytes.slice();
    }
  }
  return bytes;
}

/** Whether the last input reached a new place, or one more often than any before it. */
function isNews({ seen }) {
  let news = false;
  for (let place = 0; place < places; place++) {
    const times = counts[place];
    if (times === 0) continue;
    const bit = 1 << (31 - Math.clz32(times));
    if ((seen[place] & bit) === 0) {
      seen[place] |= bit;
      news = true;
    }
  }
  return news;
}

async function run({ folder, read }, bytes) {
  counts.fill(0);
  await outcomeOf(`${folder}, ${read}`, bytes, read);
}

for (const parser of parsers) {
  for (const bytes of parser.corpus) {
    await run(parser, bytes);
    isNews(parser);
  }
}
for (let i = 0; i < count; i++) {
  const parser = parsers[i % parsers.length];
  const bytes = changed(parser.corpus);
  await run(parser, bytes);
  if (isNews(parser)) parser.corpus.push(bytes);
}
const kept = parsers.reduce((sum, { corpus }) => sum + corpus.length, 0);
const reached = counts.filter((_, place) => parsers.some(({ seen }) => seen[place] > 0)).length;
console.log(`${count} inputs led by coverage: ${reached} of ${places} places, ${kept} inputs kept`);
