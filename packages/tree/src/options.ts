import { TensorjarError } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";

/** What an option may be: one of these values, or a value of this kind. */
const known = new Map([
  ["order", '"insertion" or "sorted"'],
  ["only", '"trainable"'],
  ["statics", '"error" or "skip"'],
  ["mode", '"strict" or "partial"'],
  ["dtype", '"exact" or "keep" or "cast"'],
  ["shape", '"exact" or "any"'],
  ["assign", '"replace" or "copy"'],
  ["isLeaf", "a function"],
  ["rename", "a function"],
  ["ignore", "a function"],
  ["prefix", "a string"],
  ["adapters", "a list"],
]);

/** Throws `invalid-argument` for options of trees that mean nothing: a misspelt one must not go unnoticed. */
export function checkOptions(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    const wanted = known.get(name);
    if (value === undefined || wanted === undefined) continue;
    const kind = Array.isArray(value) ? "list" : typeof value;
    if (wanted === `a ${kind}` || (kind === "string" && wanted.includes(quote(value)))) continue;
    throw new TensorjarError("invalid-argument", `${name} is ${describe(value)}`, {
      name,
      hint: `give ${wanted}`,
    });
  }
}
