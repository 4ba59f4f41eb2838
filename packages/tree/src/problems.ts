import { type Problem, TensorjarError } from "@tensorjar/core";
import { quote, shapeText } from "@tensorjar/core/codec";

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
  let text = "the file does not fit the tree, which is left as it was:";
  for (const kind of new Set(problems.map((problem) => problem.kind))) {
    const [first, ...more] = problems.filter((problem) => problem.kind === kind);
    if (first === undefined) continue; // there is one, or the kind would not be known
    const [name, accept] = kinds[kind];
    const [plural, rest] =
      more.length === 0 ? ["", ""] : [/h$/.test(name) ? "es" : "s", ` and ${more.length} more`];
    text += `\n- ${more.length + 1} ${name}${plural}: ${quote(first.path)}${difference(first)}${rest} (${accept})`;
  }
  return new TensorjarError("tree-mismatch", text, { problems });
}

function difference({ kind, expected, actual }: Problem): string {
  if (kind !== "shape" && kind !== "dtype") return "";
  return ` is ${text(expected)} in the tree, ${text(actual)} in the file`;
}

function text(value: unknown): string {
  return Array.isArray(value) ? shapeText(value) : String(value);
}
