import { TensorjarError } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";

/** Whether a tensor is among `names`, all of them being there. Throws `not-found` for one that is not. */
export function selectNames(
  tensors: ReadonlyMap<string, unknown>,
  names: Iterable<string> | undefined,
): (name: string) => boolean {
  if (names === undefined) return () => true;
  const wanted = nameSet(names);
  for (const name of wanted) lookUp(tensors, name);
  return (name) => wanted.has(name);
}

/** The names asked for. Throws `invalid-argument` for what is no list. */
export function nameSet(names: Iterable<string>): Set<string> {
  const given: unknown = names;
  if (typeof given === "object" && Symbol.iterator in Object(given)) return new Set(names);
  throw new TensorjarError(
    "invalid-argument",
    `names is ${describe(given)}, not an array of names`,
    {
      name: "names",
    },
  );
}

/** What is called `name`. Throws `not-found`, naming what comes near. */
export function lookUp<T>(tensors: ReadonlyMap<string, T>, name: string): T {
  const found = tensors.get(name);
  if (found !== undefined) return found;
  const all = [...tensors.keys()];
  const near = all.filter(
    (other) => typeof name === "string" && (other.endsWith(name) || name.endsWith(other)),
  );
  const shown = (near.length > 0 ? near : all).slice(0, 3).map(quote).join(", ");
  throw new TensorjarError("not-found", `there is no tensor ${quote(name)}`, {
    name,
    hint: `there is ${shown || "none"}`,
  });
}
