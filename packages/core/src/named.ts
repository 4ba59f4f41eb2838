import { classTag, describe, quote, TensorjarError } from "./error.js";
import { isTensor } from "./tensor.js";

/** Values by name: a `Map`, an iterable of pairs, or a plain object. */
export type Named<T> =
  | Map<string, T>
  | Iterable<readonly [string, T]>
  | { readonly [name: string]: T };

/**
 * The pairs of `named` in its order. Throws `duplicate-name`, `invalid-name` (no string, or a lone surrogate,
 * which UTF-8 cannot hold) and `invalid-argument`; `what` says what the names stand for.
 */
export function namedEntries<T>(named: Named<T>, what = "tensors"): [string, T][] {
  const given: object & Iterable<unknown> = Object(named);
  const fields = Symbol.iterator in given ? undefined : Object.entries(given);
  // Bytes, a promise nobody awaited and the like have no fields, and would pass for an empty record.
  if (
    typeof named !== "object" ||
    isTensor(named) ||
    ArrayBuffer.isView(named) ||
    (fields?.length === 0 && classTag(named) !== "Object")
  ) {
    throw new TensorjarError(
      "invalid-argument",
      `expected ${what} by name, got ${isTensor(named) ? "a single tensor" : describe(named)}`,
      {
        hint: "give a Map, pairs, or an object such as { weight: tensor }",
      },
    );
  }
  const pairs: [string, T][] = [];
  const seen = Object.getPrototypeOf(named) === Map.prototype ? undefined : new Set<string>(); // its keys are no two alike
  for (const pair of fields ?? given) {
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new TensorjarError(
        "invalid-argument",
        `expected pairs [name, value] for ${what}, got ${describe(pair)}`,
      );
    }
    const [name, value] = pair;
    checkName(name, what);
    if (seen?.has(name)) {
      throw new TensorjarError("duplicate-name", `the name ${quote(name)} is given twice`, {
        name,
      });
    }
    seen?.add(name);
    pairs.push([name, value]);
  }
  return pairs;
}

/** Throws `invalid-name` for a name that is no string or holds a lone surrogate. */
export function checkName(name: unknown, what = "tensors"): asserts name is string {
  if (typeof name !== "string") {
    throw new TensorjarError(
      "invalid-name",
      `a name among the ${what} is ${describe(name)}, not a string`,
    );
  }
  if (/\p{Surrogate}/u.test(name)) {
    throw new TensorjarError(
      "invalid-name",
      `the name ${quote(name)} holds a lone surrogate, which UTF-8 cannot hold`,
      { name },
    );
  }
}
