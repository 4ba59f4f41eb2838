// Bundles one function at a time for the browser and compares its size, minified and gzipped, the packages that came
// along and the modules that must stay out with a budget. Needs a build. `npm run size -- NAME` lists the minified
// bytes of each module behind one function. The sizes in the README are held to what is measured.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../", import.meta.url));
const conversions =
  /core\/dist\/(cast|cast-each|convert|create|float\d+|from-nested|half|int64|nested|numbers|\w+-numbers|small-\w+)\.js$/;
const npz = ["core", "npy", "npz", "fflate"];
const everything = [
  "core",
  "npy",
  "npz",
  "fflate",
  "safetensors",
  "tree",
  "checkpoint",
  "tensorjar",
];

/**
 * Bytes are gzipped; `names` are imported from `from`, all of its names when absent. Where `bytes`, the aim, is missed,
 * `now` is what must not be passed in the meantime: it goes up only for a rule or a target that is worth more.
 */
const budgets = [
  {
    names: ["isTensorjarError", "dtypeInfo", "ofType", "sniff", "bytesSource"],
    from: "@tensorjar/core",
    bytes: 2000,
    now: 3200,
    packages: ["core"],
  },
  {
    names: ["decodeNpy"],
    from: "@tensorjar/npy",
    bytes: 6000,
    packages: ["core", "npy"],
    without: conversions,
  },
  {
    names: ["parseNpyHeader"],
    from: "@tensorjar/npy",
    bytes: 4000,
    packages: ["core", "npy"],
    without: conversions,
  },
  {
    names: ["openNpz"],
    from: "@tensorjar/npz",
    bytes: 11_000,
    now: 13_300,
    packages: ["core", "npy", "npz"],
    without: conversions,
  },
  // By its own module: esbuild puts all that the index reaches into the chunk that an `import()` shares with it.
  {
    names: ["encodeNpz"],
    from: "./packages/npz/dist/encode.js",
    bytes: 11_000,
    packages: npz,
    without: conversions,
  },
  {
    names: ["decodeSafetensors"],
    from: "@tensorjar/safetensors",
    bytes: 4000,
    now: 5850,
    packages: ["core", "safetensors"],
    without: conversions,
  },
  {
    names: ["openSafetensors"],
    from: "@tensorjar/safetensors",
    bytes: 5000,
    now: 8400,
    packages: ["core", "safetensors"],
    without: conversions,
  },
  {
    names: ["loadTree"],
    from: "@tensorjar/tree",
    bytes: 4000,
    now: 9100,
    packages: ["core", "tree"],
  },
  // By its own module, as encodeNpz.
  {
    names: ["saveCheckpoint"],
    from: "./packages/tensorjar/dist/save-checkpoint.js",
    bytes: 12_000,
    now: 13_900,
    packages: everything,
  },
  { from: "tensorjar", bytes: 36_000, now: 72_800, packages: everything },
];

const [explained] = process.argv.slice(2);
if (explained) {
  const { from } = budgets.find(({ names }) => names?.includes(explained)) ?? { from: "tensorjar" };
  const { size, inputs } = await bundle(`export { ${explained} } from "${from}";`);
  console.table(inputs.sort(([, a], [, b]) => b - a));
  console.log(`${explained}: ${size} bytes gzipped`);
  process.exit();
}

const rows = [];
let failed = false;
for (const { names, from, bytes, now = bytes, packages, without } of budgets) {
  const {
    size,
    later,
    inputs: modules,
  } = await bundle(
    names ? `export { ${names.join(", ")} } from "${from}";` : `export * from "${from}";`,
  );
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

const readme = readFileSync(`${root}README.md`, "utf8");
for (const [, name, quoted] of readme.matchAll(/^\| \[`([^`]+)`\].*\| (\d+) kB \|$/gm)) {
  const { size } = await bundle(`export * from "${name}";`);
  const right = Math.round(size / 1000);
  // The last digit may be one off, so that a change of some bytes is no change of the README.
  if (Math.abs(size / 1000 - Number(quoted)) > 1) {
    failed = true;
    console.log(`README.md says ${quoted} kB of ${name}: it is ${right} kB`);
  }
}
process.exitCode = failed ? 1 : 0;

/** The size of what is loaded at once; chunks behind an `import()` come `later`, and only when they are needed. */
async function bundle(contents) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: root },
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    metafile: true,
    outdir: "bundle",
    format: "esm",
    platform: "browser",
    target: "es2022",
  });
  const chunks = new Set(["bundle/stdin.js"]);
  for (const chunk of chunks) {
    const { imports } = metafile.outputs[chunk];
    for (const { kind, path } of imports) if (kind === "import-statement") chunks.add(path);
  }
  const code = outputFiles.filter(({ path }) => chunks.has(relative(root, path)));
  const rest = outputFiles.filter((file) => !code.includes(file));
  const gzipped = (files) =>
    gzipSync(Buffer.concat(files.map((file) => file.contents)), { level: 9 }).byteLength;
  const inputs = [...chunks].flatMap((chunk) => Object.entries(metafile.outputs[chunk].inputs));
  return {
    size: gzipped(code),
    later: rest.length === 0 ? 0 : gzipped(rest),
    inputs: inputs
      .map(([path, { bytesInOutput }]) => [path, bytesInOutput])
      .filter(([path, bytes]) => bytes > 0 && path !== "<stdin>"),
  };
}

function packageOf(path) {
  return (
    /^packages\/(\w+)\//.exec(path)?.[1] ??
    /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ??
    path
  );
}
