import { TensorjarError } from "@tensorjar/core";

/** The formats that stand where an .npy file was expected; core's `sniff` knows more, and would fill a third of the codec's size. */
const formats: readonly (readonly [RegExp, string])[] = [
  [/^PK/, "a zip archive: try decodeNpz"],
  [/^\x1f\x8b/, "gzip"],
  [/^\s*<[!?a-z]/i, "HTML"],
  [/^version https:\/\/git-lfs/, "a Git LFS pointer: run `git lfs pull`"],
  [/^(\x89HDF|GGUF)/, "HDF5 or GGUF"],
  [/^\x80[\x02-\x05]/, "a pickle"],
  [/^.{5}\0\0\0\s*\{/s, "safetensors"],
];

/** The error for bytes that do not begin as an .npy file does; `text` is their start as Latin-1. */
export function notNpy(text: string): TensorjarError {
  const what = formats.find(([pattern]) => pattern.test(text))?.[1] ?? "no known format";
  return new TensorjarError(
    "not-this-format",
    `this is not a NumPy .npy file (magic string \\x93NUMPY) but ${what}`,
  );
}
