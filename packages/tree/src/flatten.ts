import { type Tensor, TensorjarError } from "@tensorjar/core";
import { checkTensor, compareNames } from "@tensorjar/core/codec";
import type { LeafAdapter } from "./leaf.js";
import { at } from "./path.js";
import { type TreeOptions, walk } from "./visit.js";

/**
 * The leaves of a tree by path: object keys, array indices and Map keys joined by `.`, as MLX names them; the root
 * leaf is `""`. Tensors are the same objects, typed arrays tensors on the same memory, what an adapter reads its own.
 * Throws `duplicate-name` for two leaves with one path, `invalid-argument` for an adapter that reads asynchronously
 * and for numbers that would be lost, `path-conflict` for a cycle, `limit-exceeded` past 1,000 levels, `invalid-name`.
 */
export function flattenTree(tree: unknown, options: TreeOptions = {}): Map<string, Tensor> {
  return collect(tree, options, (path, value, adapter) => {
    const read = adapter.read(value);
    if (!isPromise(read)) return checked(read, path);
    read.then(undefined, () => {}); // the error below stands for a rejection
    throw new TensorjarError("invalid-argument", `${at(path)} can only be read asynchronously`, {
      path,
      hint: "use flattenTreeAsync, or openCheckpoints to save a checkpoint",
    });
  });
}

/** As {@link flattenTree}, where an adapter reads from a device. All reads are started before the first is awaited. */
export async function flattenTreeAsync(
  tree: unknown,
  options: TreeOptions = {},
): Promise<Map<string, Tensor>> {
  const reads = collect(tree, options, (path, value, adapter) => {
    const read = Promise.resolve(adapter.read(value)).then((result) => checked(result, path));
    read.catch(() => {}); // awaited below, unless the walk throws first
    return read;
  });
  return new Map(
    await Promise.all([...reads].map(async ([path, read]) => [path, await read] as const)),
  );
}

function collect<T>(
  tree: unknown,
  options: TreeOptions,
  read: (path: string, value: unknown, adapter: LeafAdapter) => T,
): Map<string, Tensor | T> {
  const flat = new Map<string, Tensor | T>();
  let leaves = 0;
  walk(tree, options, {
    leaf(path, value, tensor, adapter) {
      flat.set(
        path,
        adapter === undefined ? (tensor ?? unchecked(value)) : read(path, value, adapter),
      );
      if (flat.size === leaves++) throw duplicate(path);
    },
  });
  if (options.order !== "sorted") return flat;
  return new Map([...flat].sort(([a], [b]) => compareNames(a, b)));
}

/** What `isLeaf` claims and is no tensor passes through as it is, for the caller to deal with. */
function unchecked(leaf: unknown): Tensor {
  return leaf as Tensor; // the one way by which another thing gets into the result
}

function isPromise(x: unknown): x is Promise<unknown> {
  const { then }: { then?: unknown } = Object(x);
  return typeof then === "function";
}

function checked(tensor: Tensor, path: string): Tensor {
  checkTensor(tensor, path);
  return tensor;
}

export function duplicate(path: string): TensorjarError {
  return new TensorjarError("duplicate-name", `two leaves have the path ${at(path)}`, {
    name: path,
    hint: "rename the key with a dot",
  });
}
