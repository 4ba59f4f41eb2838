import { type Named, type Tensor, TensorjarError } from "@tensorjar/core";
import { checkTensor } from "@tensorjar/core/codec";
import { outcomeOf, type Write } from "./apply.js";
import { leafMark, likeLeaf } from "./leaf.js";
import { fitting, type LoadOptions, plan } from "./load.js";
import { at } from "./path.js";
import { asMap, type TreeOptions, treeNode, walk } from "./visit.js";

/**
 * A new tree of the same structure whose leaves are what `fn` makes of the old ones. Static values are kept, class
 * instances become new objects of their class with the same fields.
 * Throws what {@link flattenTree} throws, and `unsupported` for a class with a `[treeNode]()` method.
 */
export function mapTree<T>(tree: T, fn: (tensor: Tensor) => Tensor): T {
  return rebuild(tree, { statics: "skip" }, (path, value, tensor) => {
    const mapped = fn(tensor as Tensor); // without adapters and `isLeaf` every leaf is one
    checkTensor(mapped, path);
    const plain = leafMark(value, undefined).kind === "array" && !ArrayBuffer.isView(value);
    return plain ? mapped : likeLeaf(mapped, value); // a plain array may become a leaf of any kind
  });
}

/**
 * A new tree with the structure of `template` and the tensors of `flat`: what {@link loadTree} does, for code that
 * never changes its trees. The template is left as it is, and may be frozen. With `assign: "copy"` the new tree
 * shares no memory with `flat`. An adapter must replace its leaves, not write into them.
 * Throws what {@link loadTree} and {@link mapTree} throw, and `invalid-argument` for `dtype: "keep"`.
 */
export function rebuildTree<T>(template: T, flat: Named<Tensor>, options: LoadOptions = {}): T {
  if (options.dtype === "keep") {
    throw new TensorjarError("invalid-argument", 'rebuildTree has no dtype: "keep"', {
      name: "dtype",
      hint: 'the result has the template\'s type; use "exact" or "cast"',
    });
  }
  const { swaps, writes } = fitting(plan(template, flat, options, false));
  const values = new Map<string, unknown>();
  for (const { path, replacement } of swaps) values.set(path, replacement);
  for (const write of writes) values.set(write.path, written(write));
  return rebuild(template, options, (path, value) => (values.has(path) ? values.get(path) : value));
}

function written(write: Write): unknown {
  const outcome = outcomeOf(write);
  const { path } = write;
  if ("replace" in outcome) return outcome.replace;
  outcome.undo();
  throw new TensorjarError("unsupported", `the adapter of ${at(path)} writes into its leaf`, {
    path,
    hint: "use loadTree to load in place",
  });
}

function rebuild<T>(
  tree: T,
  options: TreeOptions,
  leafValue: (path: string, value: unknown, tensor: Tensor | undefined) => unknown,
): T {
  const shells: object[] = [];
  let root: unknown;
  function put(key: string, value: unknown): void {
    const shell = shells.at(-1);
    const map = asMap(shell);
    if (shell === undefined) root = value;
    else if (map !== undefined) map.set(key, value);
    else {
      const field = { value, enumerable: true, writable: true, configurable: true };
      Object.defineProperty(shell, key, field);
    }
  }
  walk(tree, options, {
    enter({ node, path }, key) {
      const shell = emptyLike(node, path);
      put(key, shell);
      shells.push(shell);
    },
    leave: () => shells.pop(),
    leaf: (path, value, tensor, _adapter, _parent, key) => put(key, leafValue(path, value, tensor)),
  });
  return root as T; // the same structure, leaf by leaf
}

/** A new node of the same class with what is static in the old one. */
function emptyLike(node: object, path: string): object {
  if (treeNode in node) {
    throw new TensorjarError(
      "unsupported",
      `${at(path)} has a [treeNode]() method, so its class cannot be rebuilt from its fields`,
      { path, hint: "use loadTree to load in place" },
    );
  }
  const proto: object | null = Object.getPrototypeOf(node);
  const fields = Object.getOwnPropertyDescriptors(node);
  for (const field of Object.values(fields)) field.configurable = true; // a frozen template is no obstacle
  if (Array.isArray(node)) {
    fields["length"] = { value: node.length, writable: true };
    return Object.defineProperties(Object.setPrototypeOf([], proto), fields);
  }
  const map = asMap(node);
  if (map === undefined) return Object.create(proto, fields);
  return Object.defineProperties(Object.setPrototypeOf(new Map(map), proto), fields);
}
