import { TensorjarError } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";

/** The values that an option may have, or what it is. */
const known = new Map<string, readonly string[] | "function" | "string" | "list">([
  ["order", ["insertion", "sorted"]],
  ["only", ["trainable"]],
  ["statics", ["error", "skip"]],
  ["mode", ["strict", "partial"]],
  ["dtype", ["exact", "keep", "cast"]],
  ["shape", ["exact", "any"]],
  ["assign", ["replace", "copy"]],
  ["isLeaf", "function"],
  ["rename", "function"],
  ["ignore", "function"],
  ["prefix", "string"],
  ["adapters", "list"],
]);

/** Throws `invalid-argument` for options of trees that mean nothing: a misspelt one must not go unnoticed. */
export function checkOptions(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const wanted = known.get(name);
    if (value === undefined || wanted === undefined) continue;
    const choices = typeof wanted === "object" ? wanted : undefined;
    const kind = Array.isArray(value) ? "list" : typeof value;
    if (choices === undefined ? kind === wanted : choices.includes(value)) continue;
    throw new TensorjarError("invalid-argument", `${name} is ${describe(value)}`, {
      name,
      hint: `give ${choices?.map(quote).join(" or ") ?? `a ${wanted}`}`,
    });
  }
}
