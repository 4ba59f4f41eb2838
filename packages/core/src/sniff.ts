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

/** The length that it starts with may look like any other signature. */
const safetensors = /^.{4}\0{4}[\t\n\r ]*\{/s;

/** Signatures as latin-1, of which the first that fits counts, with what to do and, where the kind is no name, one. */
const signatures: readonly [RegExp, kind: SniffedFormat, hint?: string, name?: string][] = [
  [/^$/, "empty"],
  [safetensors, "safetensors", "use openSafetensors"],
  [/^\x93NUMPY/, "npy", "use openNpy"],
  [/^\u0100.*\.npy$/s, "npz", "use openNpz"],
  [
    /^\u0100([^/]+\/((data|constants)\.pkl|byteorder|\.(format|storage|data\/)|code\/__torch)|archive\/(version|data\/))/,
    "pytorch-zip",
    inPython,
    "a PyTorch zip",
  ],
  [/^(\u0100|PK\x05\x06|PK\x07\x08)/, "zip", "use openNpz"],
  [/^\x1f\x8b/, "gzip", decompress],
  [/^(.{512}|.{1024}|.{2048})?\x89HDF\r\n\x1a\n/s, "hdf5", inPython],
  [/^GGUF/, "gguf", "get it as safetensors"],
  [/^version https:\/\/git-lfs/, "git-lfs-pointer", "run `git lfs pull`", "a Git LFS pointer"],
  // Protocols 2 to 5, 1, and 0.
  [
    /^(\x80[\x02-\x05][(-\x96]|[\]}]q\0|\([dlt]p\d|c(_*builtin|copy_?reg|numpy|torch))/,
    "pickle",
    inPython,
  ],
  [/^\s*<[!?a-z]/i, "html", "look at what the server says", "HTML or XML"],
  [
    /^\s*(\{\s*(["}]|$)|\[\s*(["\d[{\]tfn-]|$))/,
    "json",
    "a model's index is for openShardedSafetensors",
  ],
  [/^(BZh|\x28\xb5\x2f\xfd|\xfd7zXZ|7z\xbc\xaf)/, "unknown", decompress, "zstd, bzip2, xz or 7z"],
  [/^[\t\n\r -~]{9}/, "unknown", "look at it", "text"],
];

function find(bytes: BytesLike): { text: string; row?: (typeof signatures)[number] | undefined } {
  let text = String.fromCharCode(...toBytes(bytes).subarray(0, 4096));
  if (!safetensors.test(text)) {
    // A zip archive is known by the name of its first member, marked by what no latin-1 text holds.
    if (text.startsWith("PK\x03\x04"))
      text = `\u0100${text.slice(30, 30 + text.charCodeAt(26) + 256 * text.charCodeAt(27))}`;
    if (/^(\xff\xfe|\xfe\xff)/.test(text)) text = text.slice(2).replace(/\0/g, "");
    text = text.replace(/^\xef\xbb\xbf/, "");
  }
  return { text, row: signatures.find(([signature]) => signature.test(text)) };
}

/** What a file is by its first bytes; 4 KiB are enough, safetensors need 9. */
export function sniff(bytes: BytesLike): SniffedFormat {
  return find(bytes).row?.[1] ?? "unknown";
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
  const [, kind, hint, name = kind] = row;
  const fits = kind === wanted || (kind === "zip" && wanted === "npz");
  if (fits && kind !== "unknown") return undefined;
  const start = /HTML|json|text/.test(name) ? ` (${quote(text.trim().slice(0, 60))})` : "";
  return new TensorjarError(
    kind === "empty" ? "truncated" : "not-this-format",
    `this is ${name}${start}, not ${wantedWords}`,
    { offset: 0, expected: wanted, actual: kind, ...(hint && { hint }) },
  );
}
