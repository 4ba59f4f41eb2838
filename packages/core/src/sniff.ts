// biome-ignore-all lint/suspicious/noControlCharactersInRegex: the signatures of file formats hold them
import { quote, TensorjarError } from "./error.js";
import { type BytesLike, toBytes } from "./tensor.js";

export type SniffedFormat =
  | "npy"
  | "npz"
  | "zip"
  | "safetensors"
  | "pytorch-zip"
  | "pickle"
  | "gzip"
  | "hdf5"
  | "gguf"
  | "html"
  | "json"
  | "git-lfs-pointer"
  | "empty"
  | "unknown";

const inPython = "save it again in Python, with safetensors or numpy.savez";
const decompress = "decompress it first";

/** Signatures as latin-1, the first that fits counts, with what to call the file and what to do about it. */
const signatures: readonly [
  kind: SniffedFormat,
  signature: RegExp,
  words: string,
  hint?: string,
][] = [
  ["empty", /^$/, "empty"],
  ["npy", /^\x93NUMPY/, "a .npy file", "open it with openNpy"],
  [
    "pytorch-zip",
    /^\u0100([^/]*\/)?(data\.pkl|constants\.pkl|version|byteorder|\.\w+|\.data\/\w+|data\/\d+|code\/.*\.py)$/,
    "a PyTorch zip archive",
    inPython,
  ],
  ["npz", /^\u0100.*\.npy$/s, "an .npz archive", "open it with openNpz"],
  ["zip", /^(\u0100|PK\x05\x06|PK\x07\x08)/, "a zip archive", "open it with openNpz"],
  ["safetensors", /^.{5}\0\0\0[\t\n\r ]*\{/s, "a safetensors file", "open it with openSafetensors"],
  ["gzip", /^\x1f\x8b/, "gzip", decompress],
  ["hdf5", /^(.{512}|.{1024}|.{2048})?\x89HDF\r\n\x1a\n/s, "an HDF5 file", inPython],
  ["gguf", /^GGUF/, "a GGUF model", "get it as safetensors"],
  [
    "git-lfs-pointer",
    /^version https:\/\/git-lfs/,
    "a Git LFS pointer, not the file itself",
    "run `git lfs pull`",
  ],
  [
    "pickle",
    /^(\x80[\x02-\x05][()\]}NcKMJGXUTBCI\x88-\x96]|[\]}]q\0|\([dlt](p\d|S'|V|I\d|F\d|\.)|(c|\(i)(__builtin__|builtins|copy_?reg|collections|numpy|torch)[\w.]*\n)/,
    "a Python pickle",
    inPython,
  ],
  ["html", /^\s*<[!?a-z]/i, "HTML or XML", "look at what the server says"],
  [
    "json",
    /^\s*(\{\s*(["}]|$)|\[\s*(["\d[{\]tfn-]|$))/,
    "JSON",
    "a sharded model's index is for openShardedSafetensors",
  ],
  ["unknown", /^(BZh|\x28\xb5\x2f\xfd|\xfd7zXZ|7z\xbc\xaf)/, "bzip2, xz, 7z or zstd", decompress],
  ["unknown", /^.{257}ustar/s, "a tar archive", "unpack it first"],
  ["unknown", /^(PAR1|ARROW1)/, "a Parquet or Arrow table", inPython],
  ["unknown", /^(.{4}TFL3|\x08[\x01-\x10]\x12.[a-z]{2})/s, "an ONNX or TFLite model", inPython],
  ["unknown", /^[\t\n\r -~]{9}/, "text"],
];

function find(bytes: BytesLike): { text: string; row?: (typeof signatures)[number] | undefined } {
  let text = String.fromCharCode(...toBytes(bytes).subarray(0, 4096));
  // A zip archive is known by the name of its first member, marked by what no latin-1 text holds.
  if (text.startsWith("PK\x03\x04")) {
    text = `\u0100${text.slice(30, 30 + text.charCodeAt(26) + 256 * text.charCodeAt(27))}`;
  }
  if (/^(\xff\xfe|\xfe\xff)/.test(text)) text = text.slice(2).replace(/\0/g, "");
  text = text.replace(/^\xef\xbb\xbf/, "");
  return { text, row: signatures.find(([, signature]) => signature.test(text)) };
}

/** What a file is by its first bytes; 4 KiB are enough, safetensors need 9. */
export function sniff(bytes: BytesLike): SniffedFormat {
  return find(bytes).row?.[0] ?? "unknown";
}

/**
 * The error for bytes that are not `wanted` but another format, told in words with the way out:
 * `truncated` when there are none, `not-this-format` when they are something else, `undefined` when they may be `wanted`
 * or nothing known.
 */
export function notThisFormat(
  bytes: Uint8Array,
  wanted: SniffedFormat,
  wantedWords: string,
): TensorjarError | undefined {
  const { text, row } = find(bytes);
  if (row === undefined) return undefined;
  const [kind, , words, hint] = row;
  const fits = kind === wanted || (kind === "zip" && wanted === "npz");
  if (fits && kind !== "unknown") return undefined;
  const start = /HTML|JSON|text/.test(words) ? ` (${quote(text.trim().slice(0, 60))})` : "";
  return new TensorjarError(
    kind === "empty" ? "truncated" : "not-this-format",
    `this is ${words}${start}, not ${wantedWords}`,
    { offset: 0, expected: wanted, actual: kind, ...(hint && { hint }) },
  );
}
