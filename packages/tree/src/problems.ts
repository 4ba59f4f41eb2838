import { type Problem, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

type Kind = Problem["kind"];

/** How each kind of problem is called, by the words of PyTorch where it has one, and which option accepts it. */
const kinds: { readonly [K in Kind]: readonly [one: string, many: string, accept: string] } = {
  missing: ["missing key", "missing keys", 'mode: "partial" leaves the leaf as it is'],
  unexpected: ["unexpected key", "unexpected keys", 'mode: "partial" leaves the tensor out'],
  shape: ["size mismatch", "size mismatches", 'shape: "any" takes the file\'s shape'],
  dtype: [
    "dtype mismatch",
    "dtype mismatches",
    'dtype: "keep" takes the file\'s dtype, dtype: "cast" converts to the tree\'s',
  ],
  "read-only": [
    "read-only leaf",
    "read-only leaves",
    'assign: "copy" fills the memory of an equal shape and dtype',
  ],
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
    const [one, many, accept] = kinds[kind];
    const rest = count === 1 ? "" : ` and ${count - 1} more`;
    text += `\n- ${count} ${count === 1 ? one : many}: ${quote(first.path)}${difference(first)}${rest} (${accept})`;
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
