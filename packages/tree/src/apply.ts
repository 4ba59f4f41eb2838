import type { Problem, Tensor, TensorjarError } from "@tensorjar/core";
import { describe, tensorBytes, tensorFromBytes } from "@tensorjar/core/codec";
import { type LeafAdapter, likeLeaf } from "./leaf.js";
import { at, treeError } from "./path.js";
import { treeMismatch } from "./problems.js";
import type { Frame } from "./visit.js";

/** A leaf as it was, and where it stands. */
interface Place {
  readonly path: string;
  readonly value: unknown;
  readonly parent: Frame | undefined;
  readonly key: string;
}

/** What is put in the place of a leaf, and the tensor it is or was made of. */
export interface Swap extends Place {
  readonly tensor: Tensor;
  readonly replacement: unknown;
}

/** Bytes that are copied into the memory of a leaf. */
export interface Fill {
  readonly path: string;
  readonly into: Uint8Array;
  from: Uint8Array;
}

/** What a leaf's adapter is given. */
export interface Write extends Place {
  readonly adapter: LeafAdapter;
  readonly tensor: Tensor;
}

/** What loading will do, each in the tree's order. */
export interface Plan {
  readonly swaps: readonly Swap[];
  readonly fills: readonly Fill[];
  readonly writes: readonly Write[];
}

/** Whether a leaf can be replaced where it stands. */
export function isWritable(parent: Frame | undefined, key: string): boolean {
  if (parent === undefined) return false;
  const { fields, map, twin } = parent;
  if (map !== undefined) return twin === undefined;
  const property = Object.getOwnPropertyDescriptor(fields, key);
  return property?.set !== undefined || (property?.writable === true && twin === undefined);
}

/** Carries out a plan. Whatever an adapter or a setter throws is thrown on, after everything is as it was. */
export function apply({ swaps, fills, writes }: Plan): void {
  const filled = separate(fills);
  const undo: (() => void)[] = [];
  // What is adopted from memory that is filled keeps its values in a copy.
  const all = swaps.map((swap) =>
    filled.size > 0 && filled.has(swap.tensor.data.buffer) // small arrays have no buffer until asked for it
      ? { ...swap, replacement: likeLeaf(owned(swap.tensor), swap.value) }
      : swap,
  );
  const fixed: Swap[] = [];
  const written: Given = new Map();
  let done = 0;
  try {
    for (const write of writes) {
      const outcome = outcomeOf(write);
      if ("undo" in outcome) {
        undo.push(() => outcome.undo());
        checkOnce(written, write.value, "", write);
      } else if (outcome.replace !== write.value) {
        // The plan has asked this of all but what adapters replace.
        const list = isWritable(write.parent, write.key) ? all : fixed;
        list.push({ ...write, replacement: outcome.replace });
      }
    }
    if (fixed.length > 0) throw readOnly(fixed);
    for (const swap of all) {
      done++; // before: a setter that throws may have begun
      put(swap, swap.replacement);
    }
  } catch (error) {
    for (const swap of all.slice(0, done)) undo.push(() => put(swap, swap.value));
    for (const step of undo.reverse()) {
      try {
        step();
      } catch {} // a failing undo must not keep the others from being done, nor hide the first error
    }
    throw error;
  }
  for (const { into, from } of fills) into.set(from);
}

/** Writes. Throws `invalid-argument` for an adapter that says neither how to take that back nor what to put in place. */
export function outcomeOf({
  adapter,
  value,
  tensor,
  path,
}: Write): ReturnType<LeafAdapter["write"]> {
  const outcome = adapter.write(value, tensor);
  const said: { undo?: unknown; replace?: unknown } =
    typeof outcome === "object" ? (outcome ?? {}) : {};
  if ("replace" in said || typeof said.undo === "function") return outcome;
  throw treeError(
    "invalid-argument",
    path,
    `has an adapter whose write returned ${describe(outcome)}`,
    "return { undo() } or { replace: leaf }",
  );
}

function put(place: Place, value: unknown): void {
  const { parent, key } = place;
  if (parent?.map !== undefined) parent.map.set(key, value);
  else if (parent !== undefined) {
    try {
      parent.fields[key] = value; // measured, faster than Reflect.set
    } catch (error) {
      const { set } = Object.getOwnPropertyDescriptor(parent.fields, key) ?? {};
      if (set !== undefined || !(error instanceof TypeError)) throw error; // the setter's own
      throw readOnly([place]);
    }
  }
}

function readOnly(places: readonly Place[]): TensorjarError {
  return treeMismatch(places.map(({ path }) => readOnlyProblem(path)));
}

export function readOnlyProblem(path: string): Problem {
  return { kind: "read-only", path, expected: "writable", actual: "read-only" };
}

/** A tensor in memory of its own. */
export function owned({ dtype, shape, data }: Tensor): Tensor {
  return tensorFromBytes(dtype, [...shape], tensorBytes({ data }), true) as Tensor; // of the same dtype
}

/** What a leaf is given, by its node and key. */
export type Given = Map<unknown, Map<string, Pick<Write, "path" | "tensor">>>;

/** Throws `path-conflict` for a leaf that is come to by two paths and would be given different values. */
export function checkOnce(
  given: Given,
  node: unknown,
  key: string,
  one: Pick<Write, "path" | "tensor">,
): void {
  const byKey = given.get(node) ?? new Map<string, typeof one>();
  const first = byKey.get(key);
  if (first !== undefined && !same(tensorBytes(first.tensor), tensorBytes(one.tensor)))
    throw shared(one, first, "give each its own");
  given.set(node, byKey.set(key, one));
}

function shared({ path }: { path: string }, other: { path: string }, hint: string): TensorjarError {
  const text = `shares memory with ${at(other.path)}, but the file has two values`;
  return treeError("path-conflict", path, text, hint);
}

/**
 * Sees to it that no copy changes what a later one reads, and returns the memory that is filled.
 * Throws `path-conflict` for leaves that share memory and would be filled with different values.
 */
function separate(fills: readonly Fill[]): ReadonlyMap<ArrayBufferLike, unknown> {
  const byBuffer = new Map<ArrayBufferLike, Fill[]>();
  for (const fill of fills) {
    const others = byBuffer.get(fill.into.buffer);
    if (others === undefined) byBuffer.set(fill.into.buffer, [fill]);
    else others.push(fill);
  }
  for (const group of byBuffer.values()) {
    group.sort((a, b) => a.into.byteOffset - b.into.byteOffset);
    let last: Fill | undefined;
    for (const fill of group) {
      if (last !== undefined) {
        const ahead = fill.into.byteOffset - last.into.byteOffset;
        if (ahead < last.into.length && !(ahead === 0 && same(last.from, fill.from)))
          throw shared(fill, last, 'assign: "replace" gives each its own');
      }
      last = fill;
    }
  }
  for (const fill of fills) if (byBuffer.has(fill.from.buffer)) fill.from = fill.from.slice();
  return byBuffer;
}

/** Whether two lists hold the same numbers. */
export function same(a: Numbers, b: Numbers): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

interface Numbers extends ArrayLike<number> {
  every(test: (value: number, index: number) => boolean): boolean;
}
