import { TensorjarError } from "./error.js";
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

/** What a file is by its first bytes (4 KiB are enough). Safetensors need 9 of them. */
export function sniff(bytes: BytesLike): SniffedFormat {
  const b = toBytes(bytes);
  if (b.length === 0) return "empty";
  const text = latin1(b.subarray(0, 512));
  if (text.startsWith("\x93NUMPY")) return "npy";
  if (text.startsWith("PK\x05\x06")) return "zip";
  if (text.startsWith("PK\x03\x04")) return sniffZip(b);
  if (text.startsWith("\x1f\x8b")) return "gzip";
  if (text.startsWith("\x89HDF\r\n\x1a\n")) return "hdf5";
  if (text.startsWith("GGUF")) return "gguf";
  if (text.startsWith("version https://git-lfs.github.com/spec/")) return "git-lfs-pointer";
  if (/^\x80[\x02-\x05][\x80\x8a\x8c\x95(\])}cKMXUq]/.test(text)) return "pickle";
  const start = text.replace(/^\xef\xbb\xbf/, "").trimStart();
  if (/^<(!doctype\s|html|head|body|\?xml|!--|error)/i.test(start)) return "html";
  if (isSafetensors(b)) return "safetensors";
  if (/^(\{\s*("|\})|\[\s*(["\d[{\]-]|$))/.test(start)) return "json";
  return "unknown";
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function sniffZip(b: Uint8Array): SniffedFormat {
  if (b.length < 30) return "zip";
  const length = (b[26] ?? 0) + (b[27] ?? 0) * 256;
  const name = latin1(b.subarray(30, 30 + Math.min(length, 512)));
  if (/(^|\/)(data\.pkl|constants\.pkl|\.data\/|byteorder|version)/.test(name))
    return "pytorch-zip";
  return name.endsWith(".npy") ? "npz" : "zip";
}

function isSafetensors(b: Uint8Array): boolean {
  if (b.length < 9) return false;
  const { length } = b;
  if (b[5] !== 0 || b[6] !== 0 || b[7] !== 0) return false;
  for (let at = 8; at < Math.min(length, 264); at++) {
    const byte = b[at];
    if (byte === 0x7b) return true;
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return false;
  }
  return false;
}

const words: Record<SniffedFormat, readonly [what: string, hint?: string]> = {
  npy: ["a NumPy .npy file", "open it with openNpy or decodeNpy"],
  npz: ["a NumPy .npz archive", "open it with openNpz or decodeNpz"],
  zip: ["a zip archive", "if it holds arrays, open it with openNpz"],
  safetensors: ["a safetensors file", "open it with openSafetensors or decodeSafetensors"],
  "pytorch-zip": [
    "a PyTorch checkpoint (a zip archive with a pickle)",
    "convert it in Python with safetensors.torch.save_file",
  ],
  pickle: [
    "a Python pickle, which can run code",
    "convert it in Python with safetensors.torch.save_file or numpy.savez",
  ],
  gzip: ["gzip-compressed", "decompress it first, for example with DecompressionStream"],
  hdf5: ["an HDF5 file", "convert it in Python with h5py and numpy.savez"],
  gguf: ["a GGUF model", "convert it to safetensors with llama.cpp's tools"],
  html: ["an HTML page", "the address may need a login or be wrong: look at what the server sent"],
  json: ["JSON text", "a sharded model's index is opened with openShardedSafetensors"],
  "git-lfs-pointer": ["a Git LFS pointer, not the file itself", "run `git lfs pull`"],
  empty: ["empty"],
  unknown: ["of no format that is known here"],
};

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
  const actual = sniff(bytes);
  if (actual === "empty") {
    return new TensorjarError("truncated", `the file is empty, not ${wantedWords}`, {
      expected: wantedWords,
      actual: 0,
      offset: 0,
    });
  }
  if (actual === wanted || actual === "unknown") return undefined;
  const [what, hint] = words[actual];
  return new TensorjarError("not-this-format", `this is ${what}, not ${wantedWords}`, {
    offset: 0,
    expected: wanted,
    actual,
    ...(hint === undefined ? {} : { hint }),
  });
}
