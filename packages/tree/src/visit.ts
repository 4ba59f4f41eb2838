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

/** A node under way. */
export interface Frame {
  /** What the tree holds. */
  readonly node: object;
  /** What is walked: the node itself or what its `[treeNode]()` returned. */
  readonly fields: Fields;
  /** The same, when it is a Map. */
  readonly map: Map<string, unknown> | undefined;
  readonly keys: readonly string[];
  readonly path: string;
  /** What the paths of its children begin with. */
  readonly base: string;
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

/**
 * Walks a tree depth first without recursion. Returns whether a key holds a `.`, without which no two paths are equal.
 * Throws `path-conflict`, `limit-exceeded`, `invalid-name`, `invalid-argument`.
 */
export function walk(tree: unknown, options: TreeOptions, walker: Walker): boolean {
  checkOptions(options);
  const { prefix = "", isLeaf, order, adapters, only, statics } = options;
  const stack: Frame[] = [];
  let dotted = false;

  function meet(value: unknown, parent: Frame | undefined, key: string): void {
    let adapter: LeafAdapter | undefined;
    if (adapters !== undefined) adapter = adapters.find((a) => a.is(value));
    const claimed = adapter !== undefined || isLeaf?.(value) === true;
    if (!claimed && (typeof value !== "object" || value === null)) {
      meetStatic(value, parent, key);
      return;
    }
    const path = parent === undefined ? prefix : parent.base + key;
    if (stack.length > maxDepth) throw tooDeep(path);
    if (key === "" && stack.length === 1) {
      throw treeError(
        "invalid-name",
        "",
        "has an empty key",
        "its path would be that of the root itself",
      );
    }
    const tensor = adapter === undefined ? asTensor(value, path) : undefined;
    if (claimed || tensor !== undefined) {
      if (only === "trainable" && !leafMark(value, adapter).trainable) walker.skipped?.(path);
      else walker.leaf(path, value, tensor, adapter, parent, key);
      return;
    }
    enter(value as object, path, parent, key); // neither a primitive nor a claimed leaf
  }

  function meetStatic(value: unknown, parent: Frame | undefined, key: string): void {
    if (parent === undefined) throw notATree(value, prefix);
    if (parent.plain && statics !== "skip" && /^(number|bigint|boolean)$/.test(typeof value))
      throw lost(value, parent.base + key);
    walker.static?.(parent.base + key, value);
  }

  function enter(node: object, path: string, parent: Frame | undefined, key: string): void {
    for (const ancestor of stack) {
      if (ancestor.node === node) {
        throw treeError(
          "path-conflict",
          path,
          `is the same object as ${at(ancestor.path)}, which holds it`,
          "a tree has no cycles",
        );
      }
    }
    let fields: unknown = node;
    let twin = parent?.twin === undefined ? undefined : read(parent.twin, key);
    if (twin === node) twin = undefined;
    if (treeNode in node && typeof node[treeNode] === "function") {
      fields = node[treeNode]();
      twin = node[treeNode]();
      if (twin === fields) twin = undefined;
    }
    const simple = isSimple(fields);
    if (!simple && (typeof fields !== "object" || fields === null || isOpaque(fields)))
      throw notATree(fields, path);
    const map = simple ? undefined : asMap(fields);
    const keys = map === undefined ? Object.keys(fields as Fields) : mapKeys(map, path);
    if (order === "sorted") keys.sort(compareNames);
    const frame: Frame = {
      node,
      fields: fields as Fields, // any object can be asked for a name
      map: map as Frame["map"], // mapKeys has seen that its keys are strings
      keys,
      path,
      base: stack.length === 0 && prefix === "" ? "" : `${path}.`,
      plain: simple || map !== undefined || Array.isArray(fields) || isPlain(fields as object),
      twin,
      next: 0,
    };
    stack.push(frame);
    walker.enter?.(frame, key);
  }

  meet(tree, undefined, "");
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const i = frame.next++;
    const key = frame.keys[i];
    if (key === undefined) {
      stack.pop();
      walker.leave?.(frame);
      continue;
    }
    if (!dotted && key.includes(".")) dotted = true;
    // One by one: of a node with 100 keys faster than all at once, of small ones hardly slower.
    meet(frame.map === undefined ? frame.fields[key] : frame.map.get(key), frame, key);
  }
  return dotted;
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
  const keys: string[] = [];
  for (const key of map.keys()) {
    if (typeof key !== "string") {
      throw treeError(
        "invalid-name",
        path,
        `is a Map with the key ${describe(key)}`,
        "use strings as the keys of Maps in a tree",
      );
    }
    keys.push(key);
  }
  return keys;
}

function lost(value: unknown, path: string): TensorjarError {
  const integer = typeof value === "bigint" || Number.isInteger(value);
  const dtype = typeof value === "boolean" ? "bool" : integer ? "int64" : "float64";
  const text = typeof value === "bigint" ? `${value}n` : String(value);
  return treeError(
    "invalid-argument",
    path,
    `is the ${typeof value} ${text}, which no tensor file holds`,
    `make it tensor(${text}, [], "${dtype}"), or leave such values out with statics: "skip"`,
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
