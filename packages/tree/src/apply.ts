import type { Problem, Tensor, TensorjarError } from "@tensorjar/core";
import { describe } from "@tensorjar/core/codec";
import type { LeafAdapter } from "./leaf.js";
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

/** What is put in the place of a leaf. */
export interface Swap extends Place {
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
  separate(fills);
  const undo: (() => void)[] = [];
  const all = [...swaps];
  let done = 0;
  try {
    for (const write of writes) {
      const outcome = write.adapter.write(write.value, write.tensor);
      checkOutcome(outcome, write.path);
      if ("undo" in outcome) undo.push(() => outcome.undo());
      else if (outcome.replace !== write.value)
        all.push({ ...write, replacement: outcome.replace });
    }
    // The plan has asked this of all but what adapters replace.
    const fixed = all.slice(swaps.length).filter(({ parent, key }) => !isWritable(parent, key));
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

/** Throws `invalid-argument` for an adapter that says neither how to take its write back nor what to put in place. */
function checkOutcome(outcome: unknown, path: string): void {
  const said: { undo?: unknown } = typeof outcome === "object" ? (outcome ?? {}) : {};
  if ("replace" in said || typeof said.undo === "function") return;
  throw treeError(
    "invalid-argument",
    path,
    `has an adapter whose write returned ${describe(outcome)}`,
    "return { undo() } or { replace: leaf }; a write cannot be asynchronous",
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

/**
 * Sees to it that no copy changes what a later one reads.
 * Throws `path-conflict` for leaves that share memory and would be filled with different values.
 */
function separate(fills: readonly Fill[]): void {
  const byBuffer = new Map<ArrayBufferLike, Fill[]>();
  for (const fill of fills) {
    const others = byBuffer.get(fill.into.buffer);
    if (others === undefined) byBuffer.set(fill.into.buffer, [fill]);
    else others.push(fill);
  }
  for (const group of byBuffer.values()) checkApart(group);
  for (const fill of fills) if (byBuffer.has(fill.from.buffer)) fill.from = fill.from.slice();
}

function checkApart(group: Fill[]): void {
  group.sort((a, b) => a.into.byteOffset - b.into.byteOffset);
  let last: Fill | undefined;
  for (const fill of group) {
    if (last !== undefined && overlaps(last.into, fill.into) && !agree(last, fill)) {
      throw treeError(
        "path-conflict",
        fill.path,
        `shares memory with ${at(last.path)}, but the file has different values for them`,
        'use assign: "replace" to give each its own',
      );
    }
    last = fill;
  }
}

function overlaps(first: Uint8Array, second: Uint8Array): boolean {
  return second.byteOffset < first.byteOffset + first.length;
}

/** Whether two copies are the same bytes to the same place. */
function agree(a: Fill, b: Fill): boolean {
  return (
    a.into.byteOffset === b.into.byteOffset &&
    a.from.length === b.from.length &&
    a.from.every((byte, i) => byte === b.from[i])
  );
}
