import {
  type DType,
  isTensorjarError,
  type Named,
  type Problem,
  type Tensor,
  TensorjarError,
} from "@tensorjar/core";
import {
  castEach,
  checkName,
  checkTensor,
  classTag,
  namedEntries,
  quote,
  tensorBytes,
} from "@tensorjar/core/codec";
import {
  apply,
  checkOnce,
  type Fill,
  type Given,
  isWritable,
  owned,
  type Plan,
  readOnlyProblem,
  type Swap,
  same,
  type Write,
} from "./apply.js";
import { duplicate } from "./flatten.js";
import { type LeafAdapter, likeLeaf } from "./leaf.js";
import { checkOptions } from "./options.js";
import { treeError } from "./path.js";
import { treeMismatch } from "./problems.js";
import { type Frame, type TreeOptions, walk } from "./visit.js";

export interface LoadOptions extends TreeOptions {
  /** `"partial"` forgives leaves that the file lacks and tensors that the tree lacks, never a shape or a dtype. */
  mode?: "strict" | "partial";
  /** `"keep"` takes over the file's dtype, `"cast"` converts to the leaf's. */
  dtype?: "exact" | "keep" | "cast";
  /** `"any"` takes over the file's shape. */
  shape?: "exact" | "any";
  /** `"replace"` puts the file's tensors into the tree, `"copy"` their values into the memory that is there. */
  assign?: "replace" | "copy";
  /** The path in the tree of a name in the file. */
  rename?: (fileName: string) => string;
  /** Paths that are neither loaded nor missing nor unexpected. */
  ignore?: (treePath: string) => boolean;
}

/** Paths in the tree's order, and the file's for `unexpected`. */
export interface LoadReport {
  loaded: string[];
  missing: string[];
  unexpected: string[];
}

/**
 * Loads named tensors into a tree, in place. Bare typed arrays are filled; other leaves are replaced by the tensors
 * given, or with `assign: "copy"` filled, and replaced by a copy only where dtype or shape may differ and do.
 * All or nothing: throws `tree-mismatch` with every problem in `details.problems`, in the tree's order and then the
 * file's, and whatever an adapter or a setter throws, and then has changed no value and no reference. Also throws
 * `duplicate-name` (two leaves or two renamed tensors with one path), `path-conflict` (a cycle; a leaf at two paths,
 * by its node, its memory or its adapter, that would be given different values), and what {@link flattenTree} and a bad tensor throw.
 */
export function loadTree(
  tree: unknown,
  flat: Named<Tensor>,
  options: LoadOptions = {},
): LoadReport {
  const planned = fitting(plan(tree, flat, options, true));
  apply(planned);
  return planned.report;
}

/** What loading will do and report, and what is in its way. */
export interface LoadPlan extends Plan {
  readonly report: LoadReport;
  readonly problems: readonly Problem[];
}

/** The plan, if nothing is in its way. Throws `tree-mismatch`. */
export function fitting(planned: LoadPlan): LoadPlan {
  if (planned.problems.length > 0) throw treeMismatch(planned.problems);
  return planned;
}

/** Matches a tree with named tensors, changing nothing; `inPlace` when the tree itself is to be written to. */
export function plan(
  tree: unknown,
  flat: Named<Tensor>,
  options: LoadOptions,
  inPlace: boolean,
): LoadPlan {
  checkOptions(options);
  const strict = options.mode !== "partial";
  const copy = options.assign === "copy";
  const { tensors, names } = byTreePath(flat, options.rename);
  const swaps: Swap[] = [];
  const fills: Fill[] = [];
  const writes: Write[] = [];
  const problems: Problem[] = [];
  const report: LoadReport = { loaded: [], missing: [], unexpected: [] };
  const passedOver: string[] = [];
  const levels: (readonly string[])[] = [];
  const nodes = new Set<object>();
  // A file in the tree's order is read along with it: measured, comparing is four times as fast as looking up.
  const along = tensors.entries();
  let next = along.next().value;
  let apart = false;

  /** The file's next tensor and its name, if they are those of this path; they are then passed by. */
  function pass(path: string): readonly [string, unknown] | undefined {
    const entry = path === next?.[0] ? next : undefined;
    if (entry === undefined) apart = true;
    else next = along.next().value;
    return entry;
  }

  function skip(path: string): void {
    pass(path);
    passedOver.push(path);
  }

  function match(
    path: string,
    value: unknown,
    memory: Tensor | undefined,
    adapter: LeafAdapter | undefined,
    parent: Frame | undefined,
    key: string,
  ): void {
    if (options.ignore?.(path)) {
      skip(path);
      return;
    }
    const own = memory ?? (adapter && { dtype: adapter.dtype(value), shape: adapter.shape(value) });
    if (own === undefined) {
      throw treeError(
        "invalid-argument",
        path,
        "is a leaf by `isLeaf`, but no tensor",
        "give an adapter for it in `adapters`",
      );
    }
    const entry = pass(path);
    const found: unknown = entry === undefined ? tensors.get(path) : entry[1];
    if (found === undefined && !tensors.has(path)) {
      report.missing.push(path);
      if (strict) problems.push({ kind: "missing", path, expected: summary(own) });
      return;
    }
    const name = entry === undefined ? path : entry[0]; // the same text, with which the path made here is free at once
    report.loaded.push(name);
    checkTensor(found, names?.get(path) ?? path);
    let tensor = found as Tensor; // as checkTensor has seen
    const sameShape = same(tensor.shape, own.shape);
    if (!sameShape && options.shape !== "any") {
      problems.push({ kind: "shape", path, expected: own.shape, actual: tensor.shape });
    }
    if (tensor.dtype !== own.dtype && options.dtype !== "keep") {
      const converted = options.dtype === "cast" ? tryCast(tensor, own.dtype) : tensor.dtype;
      if (typeof converted === "string") {
        problems.push({ kind: "dtype", path, expected: own.dtype, actual: converted });
      } else tensor = converted;
    }
    if (adapter !== undefined) writes.push({ path: name, value, parent, key, adapter, tensor });
    else if (memory !== undefined) {
      const bare = ArrayBuffer.isView(value);
      const sameSize = bare ? memory.data.length === tensor.data.length : sameShape;
      if (inPlace && (bare || copy) && sameSize && memory.dtype === tensor.dtype) {
        const into = tensorBytes(memory);
        if (into.length > 0) fills.push({ path: name, into, from: tensorBytes(tensor) });
        return;
      }
      if (inPlace && !isWritable(parent, key)) problems.push(readOnlyProblem(path));
      const adopted = copy ? owned(tensor) : tensor;
      const replacement = likeLeaf(adopted, value);
      swaps.push({ path: name, value, parent, key, tensor: adopted, replacement });
    }
  }

  walk(tree, options, {
    enter({ paths, node }) {
      levels.push(paths.keys);
      nodes.add(node);
    },
    leaf: match,
    skipped: skip,
  });
  const { loaded, missing, unexpected } = report;
  // Of what is read along, no two paths are equal, and none at all without a dot in a key.
  if (apart && levels.some((keys) => keys.some((key) => key.includes(".")))) {
    const seen = new Set<string>();
    for (const path of [...loaded, ...missing, ...passedOver])
      if (seen.size === seen.add(path).size) throw duplicate(path);
  }
  if (loaded.length < tensors.size) {
    const known = new Set([...loaded, ...passedOver]);
    for (const [path, tensor] of tensors) {
      if (known.has(path) || options.ignore?.(path)) continue;
      checkName(path);
      unexpected.push(path);
      const name = names?.get(path);
      const actual = { ...(name !== undefined && name !== path && { name }), ...summary(tensor) };
      if (strict) problems.push({ kind: "unexpected", path, actual });
    }
  }
  // Where a node is come to again, its leaves are given something twice.
  if (inPlace && problems.length === 0 && nodes.size < levels.length) {
    const given: Given = new Map();
    walk(tree, options, {
      leaf(path, _value, _tensor, _adapter, parent, key) {
        const tensor = tensors.get(path);
        if (tensor !== undefined && !options.ignore?.(path))
          checkOnce(given, parent?.node, key, { path, tensor });
      },
    });
  }
  return { swaps, fills, writes, report, problems };
}

/** The tensors by their paths in the tree, and, when they are renamed, their names in the file by the same. */
function byTreePath(
  flat: Named<Tensor>,
  rename: LoadOptions["rename"],
): { tensors: ReadonlyMap<string, Tensor>; names?: ReadonlyMap<string, string> } {
  const given =
    classTag(flat) === "Map" ? (flat as Map<string, Tensor>) : new Map(namedEntries(flat)); // classTag told
  if (rename === undefined) return { tensors: given };
  const tensors = new Map<string, Tensor>();
  const names = new Map<string, string>();
  for (const [name, tensor] of given) {
    checkName(name);
    const path = rename(name);
    checkName(path, "renamed tensors");
    const other = names.get(path);
    if (other !== undefined) {
      throw new TensorjarError(
        "duplicate-name",
        `${quote(other)} and ${quote(name)} are both renamed to ${quote(path)}`,
        { name: path },
      );
    }
    tensors.set(path, tensor);
    names.set(path, name);
  }
  return { tensors, names };
}

/** The converted tensor, or the file's dtype and why it cannot be converted. */
function tryCast(tensor: Tensor, dtype: DType): Tensor | string {
  try {
    return castEach(tensor, dtype) as Tensor; // the union of what `castEach` returns for each dtype
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    return `${tensor.dtype}, not converted: ${error.message}`;
  }
}

/** What a problem says of a tensor, or of whatever stands in its place. */
function summary(x: unknown): { dtype?: unknown; shape?: unknown } {
  const { dtype, shape }: { dtype?: unknown; shape?: unknown } = x ?? {};
  return { dtype, shape };
}
