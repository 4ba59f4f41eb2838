import { type Problem, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

type Kind = Problem["kind"];

/** How each kind of problem is called, by the words of PyTorch where it has one, and which option accepts it. */
const kinds: { readonly [K in Kind]: readonly [name: string, accept: string] } = {
  missing: ["missing key", 'mode: "partial" leaves the leaf as it is'],
  unexpected: ["unexpected key", 'mode: "partial" leaves the tensor out'],
  shape: ["size mismatch", 'shape: "any" takes the file\'s shape'],
  dtype: [
    "dtype mismatch",
    'dtype: "keep" takes the file\'s dtype, dtype: "cast" converts to the tree\'s',
  ],
  "read-only": ["read-only key", 'assign: "copy" fills the memory of an equal shape and dtype'],
};

/** One error for all that does not fit: how many of each kind, the first of each, and all in `details.problems`. */
export function treeMismatch(problems: readonly Problem[]): TensorjarError<"tree-mismatch"> {
  const groups = new Map<Kind, { count: number; first: Problem }>();
  for (const problem of problems) {
    const group = groups.get(problem.kind);
    if (group === undefined) groups.set(problem.kind, { count: 1, first: problem });
    else group.count++;
  }
  let text = "the file does not fit the tree, which is left as it was:";
  for (const [kind, { count, first }] of groups) {
    const [name, accept] = kinds[kind];
    const [plural, rest] =
      count === 1 ? ["", ""] : [/h$/.test(name) ? "es" : "s", ` and ${count - 1} more`];
    text += `\n- ${count} ${name}${plural}: ${quote(first.path)}${difference(first)}${rest} (${accept})`;
  }
  return new TensorjarError("tree-mismatch", text, { problems });
}

function difference({ kind, expected, actual }: Problem): string {
  if (kind !== "shape" && kind !== "dtype") return "";
  return ` is ${text(expected)} in the tree, ${text(actual)} in the file`;
}

function text(value: unknown): string {
  return Array.isArray(value) ? `(${value.slice(0, 16).join(", ")})` : String(value);
}
