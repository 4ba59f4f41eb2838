// What single functions of the packages may weigh, and how it is measured. Needs a build.
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../", import.meta.url));
const conversions =
  /core\/dist\/(cast|cast-each|convert|create|float\d+|from-nested|half(-vector|-wasm)?|int64|nested|numbers|\w+-numbers|small-\w+)\.js$/;
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
export const budgets = [
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
    now: 13_450,
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
    now: 8_700,
    packages: ["core", "safetensors"],
    without: conversions,
  },
  {
    names: ["loadTree"],
    from: "@tensorjar/tree",
    bytes: 4000,
    now: 9300,
    packages: ["core", "tree"],
  },
  // By its own module, as encodeNpz.
  {
    names: ["saveCheckpoint"],
    from: "./packages/tensorjar/dist/save-checkpoint.js",
    bytes: 12_000,
    now: 14_250,
    packages: everything,
  },
  { from: "tensorjar", bytes: 36_000, now: 75_800, packages: everything },
];

/** A module that exports the `names` of `from`, or all of them. */
export const moduleOf = ({ names, from }) =>
  `export ${names ? `{ ${names.join(", ")} }` : "*"} from "${from}";`;

/** The size of what is loaded at once; chunks behind an `import()` come `later`, and only when they are needed. */
export async function bundle(contents) {
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
