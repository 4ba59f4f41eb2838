import { type Named, type Tensor, TensorjarError } from "@tensorjar/core";
import { namedEntries } from "@tensorjar/core/codec";
import { at, maxDepth, tooDeep } from "./path.js";

class Branch {
  readonly children = new Map<string, Child>();
}

type Child = Branch | { readonly leaf: unknown };

/**
 * The tree whose paths are the names of `flat`: plain objects without a prototype, and arrays where a level's keys
 * are exactly 0…n−1 without leading zeros. Tensors are the same objects; nothing gives an empty object.
 * Throws `path-conflict` where a path holds a leaf and a subtree, `duplicate-name`, `limit-exceeded` past 1,000 levels.
 */
export function unflattenTree(flat: Named<Tensor>): unknown {
  const root = new Branch();
  const branches = [root];
  const entries = namedEntries(flat);
  for (const [path, leaf] of entries) {
    if (path === "") {
      if (entries.length === 1) return leaf;
      throw conflict(path);
    }
    const segments = path.split(".", maxDepth + 1);
    if (segments.length > maxDepth) throw tooDeep(path);
    let branch = root;
    for (let i = 0; i < segments.length - 1; i++) {
      const segment = segments[i] ?? "";
      let child = branch.children.get(segment);
      if (child === undefined) {
        child = new Branch();
        branch.children.set(segment, child);
        branches.push(child);
      }
      if (!(child instanceof Branch)) throw conflict(segments.slice(0, i + 1).join("."));
      branch = child;
    }
    const last = segments[segments.length - 1] ?? "";
    if (branch.children.has(last)) throw conflict(path);
    branch.children.set(last, { leaf });
  }
  return build(branches);
}

/** The first branch as an object or array, and all under it. A branch stands before its children in `branches`. */
function build(branches: readonly Branch[]): unknown {
  const built = new Map<Branch, unknown>();
  const value = (child: Child) => (child instanceof Branch ? built.get(child) : child.leaf);
  let node: unknown;
  for (let i = branches.length - 1; i >= 0; i--) {
    const branch = branches[i];
    if (branch === undefined) break;
    const { children } = branch;
    if (isList(children)) {
      const list: unknown[] = new Array(children.size);
      for (const [key, child] of children) list[Number(key)] = value(child);
      node = list;
    } else {
      const fields: { [key: string]: unknown } = Object.create(null);
      for (const [key, child] of children) fields[key] = value(child);
      node = fields;
    }
    built.set(branch, node);
  }
  return node;
}

/** Whether the keys are exactly 0…n−1: they are distinct, so each need only be canonical and in range. */
function isList(children: ReadonlyMap<string, Child>): boolean {
  for (const key of children.keys()) {
    const index = Number(key);
    if (!(index >= 0 && index < children.size) || String(index) !== key) return false;
  }
  return children.size > 0;
}

function conflict(path: string): TensorjarError {
  return new TensorjarError("path-conflict", `${at(path)} is both a leaf and a subtree`, {
    path,
    hint: "a flat Map may hold both, a nested tree cannot: rename one",
  });
}
