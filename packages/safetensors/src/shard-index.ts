import { type BytesLike, type ErrorCode, TensorjarError } from "@tensorjar/core";
import { notThisFormat, quote, toBytes } from "@tensorjar/core/codec";
import { jsonReader, NULL, QUOTE } from "./json-reader.js";

/** What `model.safetensors.index.json` says. */
export interface ShardIndex {
  /** The file of each tensor, in the order of the text. */
  readonly files: Map<string, string>;
  /** Of its metadata what is text, and what is a number or a word, as text. */
  readonly metadata: Map<string, string>;
}

/**
 * Parses the index of a sharded model. Throws `not-this-format`, `truncated`, `invalid-utf8`, `invalid-header`,
 * `duplicate-name`, and `invalid-name` for a shard that is no plain file name.
 */
export function parseShardIndex(text: string | BytesLike): ShardIndex {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : toBytes(text);
  const other = notThisFormat(bytes, "json", "the index of a sharded model");
  if (other !== undefined) throw other;
  const json = jsonReader(bytes, "the index of a sharded model", 0, 1);
  const files = new Map<string, string>();
  const metadata = new Map<string, string>();
  const keys = new Set<string>();
  /** That `name` is not in `known`; two of it would be one that wins. */
  const once = (known: { has(name: string): boolean }, name: string, code: ErrorCode): void => {
    if (known.has(name)) throw json.error(code, "is there twice");
  };
  json.object((key) => {
    if (key === "weight_map" || key === "metadata") once(keys, key, "invalid-header");
    keys.add(key);
    if (key === "weight_map") {
      json.object((name) => {
        once(files, name, "duplicate-name");
        files.set(name, checkFileName(json.string()));
      });
    } else if (key === "metadata" && json.next() !== NULL) {
      json.object((name) => {
        once(metadata, name, "duplicate-name");
        const isText = json.next() === QUOTE;
        const value = isText ? json.string() : json.skip();
        if (isText || !/^[[{]/.test(value)) metadata.set(name, value);
      });
    } else json.skip();
  });
  if (!keys.has("weight_map")) throw json.error("invalid-header", "there is no weight_map");
  return { files, metadata };
}

/** Throws `invalid-name` for what could lead out of the model's folder. */
export function checkFileName(name: string): string {
  let plain = typeof name !== "string" || name.length > 1000 ? "" : name;
  try {
    for (let before = ""; before !== plain; ) {
      before = plain;
      plain = decodeURIComponent(plain);
    }
  } catch {
    plain = "";
  }
  if (plain === "" || plain === "." || /\.\.|[/\\:\p{Cc}]/u.test(plain)) {
    throw new TensorjarError("invalid-name", `the shard ${quote(name)} is not a plain file name`, {
      name,
      hint: "shards lie beside their index: no folder, no scheme, no %-escape of one",
    });
  }
  return name;
}
