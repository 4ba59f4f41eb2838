import { TensorjarError } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";

const choices: { readonly [option: string]: readonly string[] } = {
  order: ["insertion", "sorted"],
  only: ["trainable"],
  statics: ["error", "skip"],
  mode: ["strict", "partial"],
  dtype: ["exact", "keep", "cast"],
  shape: ["exact", "any"],
  assign: ["replace", "copy"],
};
const functions = ["isLeaf", "rename", "ignore"];

/** Throws `invalid-argument` for options of trees that mean nothing: a misspelt one must not go unnoticed. */
export function checkOptions(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const known = choices[name];
    if (known !== undefined) {
      if (!known.includes(value)) throw wrong(name, value, `give ${known.map(quote).join(" or ")}`);
    } else if (functions.includes(name)) {
      if (typeof value !== "function") throw wrong(name, value, "give a function");
    } else if (name === "prefix") {
      if (typeof value !== "string") throw wrong(name, value, "give a string");
    } else if (name === "adapters" && !Array.isArray(value)) {
      throw wrong(name, value, "give an array of adapters");
    }
  }
}

function wrong(name: string, value: unknown, hint: string): TensorjarError {
  return new TensorjarError("invalid-argument", `${name} is ${describe(value)}`, { name, hint });
}
