import type { Tensor, TensorjarError } from "@tensorjar/core";
import { classTag, compareNames, describe } from "@tensorjar/core/codec";
import {
  asTensor,
  isOpaque,
  isPlain,
  type LeafAdapter,
  type LeafKind,
  leafMark,
  notATree,
} from "./leaf.js";
import { checkOptions } from "./options.js";
import { at, maxDepth, tooDeep, treeError } from "./path.js";

/**
 * The method by which a class says what is in it: `[treeNode]()` returns an object, array or Map that is walked
 * instead of the instance's own fields. To be loaded by replacing, what it returns must be live: the same object at
 * every call, or one with setters. Registered, so that two copies of this package agree on it.
 */
export const treeNode: unique symbol = Symbol.for("tensorjar.treeNode");

export interface TreeOptions {
  /** Put before every path with a `.`; the path of a tree that is a single leaf. */
  prefix?: string;
  /** Says of what else not to look into; asked of every value. */
  isLeaf?: (x: unknown) => boolean;
  /** `"sorted"` is by code point. */
  order?: "insertion" | "sorted";
  adapters?: readonly LeafAdapter[];
  /** Leaves out buffers, frozen parameters and what an adapter calls untrainable. */
  only?: "trainable";
  /** Numbers, bigints and booleans of plain objects, arrays and Maps are refused unless this is `"skip"`. */
  statics?: "error" | "skip";
}

export interface Visitor {
  enter?(path: string, node: object): void;
  leave?(path: string, node: object): void;
  leaf(path: string, leaf: unknown, kind: LeafKind, trainable: boolean): void;
  static?(path: string, value: unknown): void;
}

type Fields = { [key: string]: unknown };

/**
 * The paths below one node. Kept while the tree lives, because most trees are walked again and again, to save and to
 * load them: measured, making and hashing these texts is more than a third of the work.
 */
interface Paths {
  /** What all of them begin with. */
  readonly base: string;
  readonly keys: readonly string[];
  /** The path of each key, once needed. */
  readonly full: string[];
  /** The paths below each key that leads to a node. */
  readonly below: Paths[];
}

/** By trees, and by the nodes right in them: objects made to hold several trees are often new each time. */
const known = new WeakMap<object, Paths>();

/** A node under way. */
export interface Frame {
  readonly parent: Frame | undefined;
  /** What the tree holds. */
  readonly node: object;
  /** What is walked: the node itself or what its `[treeNode]()` returned. */
  readonly fields: Fields;
  /** The same, when it is a Map. */
  readonly map: Map<string, unknown> | undefined;
  readonly values: readonly unknown[];
  readonly path: string;
  readonly paths: Paths;
  /** Whether numbers in it would be lost. */
  readonly plain: boolean;
  /** The same place in what a second call of `[treeNode]()` returned; different objects are thrown away after use. */
  readonly twin: unknown;
  next: number;
}

/** What a walk reports to. */
export interface Walker {
  enter?(frame: Frame, key: string): void;
  leave?(frame: Frame): void;
  /**
   * `tensor` is the value as a tensor on the same memory, unless an adapter or `isLeaf` claimed it as something else;
   * `parent` is undefined for a tree that is a single leaf.
   */
  leaf(
    path: string,
    value: unknown,
    tensor: Tensor | undefined,
    adapter: LeafAdapter | undefined,
    parent: Frame | undefined,
    key: string,
  ): void;
  /** A leaf left out by `only`. */
  skipped?(path: string): void;
  static?(path: string, value: unknown): void;
}

/** Walks a tree depth first without recursion. Throws `path-conflict`, `limit-exceeded`, `invalid-name`, `invalid-argument`. */
export function walk(tree: unknown, options: TreeOptions, walker: Walker): void {
  checkOptions(options);
  const { prefix = "", isLeaf, adapters, only, statics } = options;
  const sorted = options.order === "sorted";
  const { leaf, skipped, static: meetStatic, enter: entered, leave } = walker; // read once: measured, a tenth faster
  const open: object[] = [];

  /** Reports a leaf or a static value, and opens a node. */
  function meet(value: unknown, parent: Frame | undefined, key: string): Frame | undefined {
    const adapter = adapters?.find((a) => a.is(value));
    const claimed = adapter !== undefined || isLeaf?.(value);
    if (!claimed && (typeof value !== "object" || value === null))
      return passStatic(value, parent, key);
    const path = parent === undefined ? prefix : pathOf(parent, key);
    if (open.length > maxDepth) throw tooDeep(path);
    if (open.length === 1 && key === "") {
      const hint = "its path would be the root's";
      throw treeError("invalid-name", "", "has an empty key", hint);
    }
    const tensor = adapter === undefined ? asTensor(value, path) : undefined;
    if (tensor === undefined && !claimed) return enter(value as object, path, parent, key); // no primitive
    if (only === "trainable" && !leafMark(value, adapter).trainable) skipped?.(path);
    else leaf(path, value, tensor, adapter, parent, key);
    return undefined;
  }

  function passStatic(value: unknown, parent: Frame | undefined, key: string): undefined {
    if (parent === undefined) throw notATree(value, prefix);
    if (parent.plain && statics !== "skip" && /^(number|bigint|boolean)$/.test(typeof value))
      throw lost(value, parent.paths.base + key);
    meetStatic?.(parent.paths.base + key, value);
  }

  function enter(node: object, path: string, parent: Frame | undefined, key: string): Frame {
    if (open.includes(node)) throw cycle(node, path, parent);
    open.push(node);
    let fields: unknown = node;
    let twin = parent?.twin === undefined ? undefined : read(parent.twin, key);
    if (twin === node) twin = undefined;
    const { [treeNode]: list }: { [treeNode]?: unknown } = node;
    if (typeof list === "function") {
      fields = list.call(node);
      twin = list.call(node);
      if (twin === fields) twin = undefined;
    }
    const simple = isSimple(fields);
    if (!simple && (typeof fields !== "object" || fields === null || isOpaque(fields)))
      throw notATree(fields, path);
    const map = simple ? undefined : asMap(fields);
    const keys = map === undefined ? Object.keys(fields as Fields) : mapKeys(map, path);
    const inner = fields as Fields; // any object can be asked for a name
    if (sorted) keys.sort(compareNames);
    // All values at once: measured, faster until an object has so many fields that engines keep them in a table.
    let values = map === undefined && !sorted && keys.length <= 32 ? Object.values(inner) : [];
    if (values.length !== keys.length) values = keys.map((k) => (map ? map.get(k) : inner[k])); // a getter may take keys away
    const frame: Frame = {
      parent,
      node,
      fields: inner,
      map: map as Frame["map"], // mapKeys has seen that its keys are strings
      values,
      path,
      paths: pathsBelow(node, path, keys, parent),
      plain: simple || map !== undefined || Array.isArray(fields) || isPlain(fields as object),
      twin,
      next: 0,
    };
    entered?.(frame, key);
    return frame;
  }

  let frame = meet(tree, undefined, "");
  while (frame !== undefined) {
    const i = frame.next++;
    const key = frame.paths.keys[i];
    if (key !== undefined) frame = meet(frame.values[i], frame, key) ?? frame;
    else {
      open.pop();
      leave?.(frame);
      remember(frame);
      frame = frame.parent;
    }
  }
}

function pathOf(parent: Frame, key: string): string {
  const { base, full } = parent.paths;
  const index = parent.next - 1;
  full[index] ??= base + key;
  return full[index];
}

/** The paths below a node: those of an earlier walk, unless its keys are others now. */
function pathsBelow(
  node: object,
  path: string,
  keys: readonly string[],
  parent: Frame | undefined,
): Paths {
  const old = parent?.paths.below[parent.next - 1];
  if (old !== undefined && sameKeys(keys, old.keys)) return old;
  // Joined, a text of its own; added up, every path would be put together anew from all its segments.
  const base = parent === undefined && path === "" ? "" : [path, ""].join(".");
  const own = parent?.parent === undefined ? known.get(node) : undefined;
  if (own?.base === base && sameKeys(keys, own.keys)) return own;
  return { base, keys, full: [], below: [] };
}

function remember({ node, parent, paths }: Frame): void {
  if (paths.full.length === 0) return; // such as a list of numbers
  if (parent !== undefined) parent.paths.below[parent.next - 1] = paths;
  if (parent?.parent === undefined) known.set(node, paths);
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, i) => key === b[i]);
}

function cycle(node: object, path: string, parent: Frame | undefined): TensorjarError {
  let holder = parent;
  while (holder !== undefined && holder.node !== node) holder = holder.parent;
  return treeError(
    "path-conflict",
    path,
    `is the same as ${at(holder?.path ?? "")}, which holds it`,
    "a tree has no cycles",
  );
}

/** Whether an object is a literal or an array of this realm, by the one look that most nodes need. */
function isSimple(x: unknown): x is object {
  if (typeof x !== "object" || x === null) return false;
  const proto: unknown = Object.getPrototypeOf(x);
  return proto === Object.prototype || proto === Array.prototype;
}

/** A Map, also of another realm. */
export function asMap(x: unknown): Map<unknown, unknown> | undefined {
  return classTag(x) === "Map" ? (x as Map<unknown, unknown>) : undefined; // classTag told
}

function read(node: unknown, key: string): unknown {
  const map = asMap(node);
  return map === undefined ? (node as Fields)[key] : map.get(key); // any object can be asked for a name
}

function mapKeys(map: Map<unknown, unknown>, path: string): string[] {
  return Array.from(map.keys(), (key) => {
    if (typeof key === "string") return key;
    throw treeError(
      "invalid-name",
      path,
      `is a Map with the key ${describe(key)}`,
      "use strings as keys",
    );
  });
}

function lost(value: unknown, path: string): TensorjarError {
  const integer = typeof value === "bigint" || Number.isInteger(value);
  const dtype = typeof value === "boolean" ? "bool" : integer ? "int64" : "float64";
  const text = `${value}${typeof value === "bigint" ? "n" : ""}`;
  return treeError(
    "invalid-argument",
    path,
    `is the ${typeof value} ${text}, which no file holds`,
    `make it tensor(${text}, [], "${dtype}"), or leave it out with statics: "skip"`,
  );
}

/**
 * Calls `visitor` for every node, leaf and static value of a tree, depth first. `null`, `undefined`, strings and
 * functions are static, and so are the numbers of class instances.
 * Throws `invalid-argument`, `invalid-name`, `path-conflict` for a cycle and `limit-exceeded` past 1,000 levels.
 */
export function visitTree(tree: unknown, visitor: Visitor, options: TreeOptions = {}): void {
  walk(tree, options, {
    enter: ({ path, node }) => visitor.enter?.(path, node),
    leave: ({ path, node }) => visitor.leave?.(path, node),
    leaf(path, value, _tensor, adapter) {
      const { kind, trainable } = leafMark(value, adapter);
      visitor.leaf(path, value, kind, trainable);
    },
    static: (path, value) => visitor.static?.(path, value),
  });
}
