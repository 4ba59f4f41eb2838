/** The formats that stand where another was expected; core's `sniff` knows more, and would fill a third of the codec's size. */
const formats: readonly (readonly [RegExp, string])[] = [
  [/^PK/, "zip: .npz or PyTorch, try decodeNpz"],
  [/^\x1f\x8b/, "gzip"],
  [/^\s*<[!?a-z]/i, "HTML"],
  [/^\s*(\{\s*["}]|\[)/, "JSON"],
  [/^version https:/, "a Git LFS pointer: run `git lfs pull`"],
  [/^(\x89HDF|GGUF)/, "HDF5 or GGUF"],
  [/^\x80[\x02-\x05]/, "pickle"],
  [/^.{5}\0\0\0\s*\{/s, "safetensors"],
];

/** What a file is whose first bytes are `text` as Latin-1, in words. */
export function otherFormat(text: string): string | undefined {
  return formats.find(([pattern]) => pattern.test(text.replace("\xef\xbb\xbf", "")))?.[1];
}
