import type { Problem, Tensor, TensorjarError } from "@tensorjar/core";
import { describe, tensorBytes } from "@tensorjar/core/codec";
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

/** What is copied into the memory of a leaf. */
export interface Fill {
  readonly path: string;
  readonly into: Tensor;
  readonly tensor: Tensor;
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
  const copies = independent(fills);
  const undo: (() => void)[] = [];
  const replaced: Swap[] = [];
  let last: Swap | undefined;
  try {
    for (const write of writes) {
      const outcome = write.adapter.write(write.value, write.tensor);
      checkOutcome(outcome, write.path);
      if ("undo" in outcome) undo.push(() => outcome.undo());
      else if (outcome.replace !== write.value)
        replaced.push({ ...write, replacement: outcome.replace });
    }
    // The plan has asked this of all but what adapters replace.
    const fixed = replaced.filter(({ parent, key }) => !isWritable(parent, key));
    if (fixed.length > 0) throw readOnly(fixed);
    for (const list of [swaps, replaced]) {
      for (const swap of list) {
        last = swap; // before: a setter that throws may have begun
        put(swap, swap.replacement);
      }
    }
  } catch (error) {
    const all = [...swaps, ...replaced];
    for (const swap of all.slice(0, last === undefined ? 0 : all.indexOf(last) + 1))
      undo.push(() => put(swap, swap.value));
    for (const step of undo.reverse()) attempt(step);
    throw error;
  }
  for (const { into, from } of copies) tensorBytes(into).set(from);
}

/** Throws `invalid-argument` for an adapter that says neither how to take its write back nor what to put in place. */
function checkOutcome(outcome: unknown, path: string): void {
  const said =
    typeof outcome === "object" &&
    outcome !== null &&
    ("replace" in outcome || ("undo" in outcome && typeof outcome.undo === "function"));
  if (said) return;
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
      parent.fields[key] = value; // measured, in a third of the time of Reflect.set
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

/** A failing undo must not keep the others from being done, nor hide the first error. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {}
}

interface Copy {
  readonly into: Tensor;
  from: Uint8Array;
  readonly path: string;
}

/**
 * What is copied into memory, such that no copy changes what a later one reads.
 * Throws `path-conflict` for leaves that share memory and would be filled with different values.
 */
function independent(planned: readonly Fill[]): Copy[] {
  const copies: Copy[] = [];
  const byBuffer = new Map<ArrayBufferLike, Copy[]>();
  for (const { into, tensor, path } of planned) {
    if (into.data.byteLength === 0) continue;
    const copy = { into, from: tensorBytes(tensor), path };
    copies.push(copy);
    const others = byBuffer.get(into.data.buffer);
    if (others === undefined) byBuffer.set(into.data.buffer, [copy]);
    else others.push(copy);
  }
  for (const group of byBuffer.values()) if (group.length > 1) checkApart(group);
  for (const copy of copies) if (byBuffer.has(copy.from.buffer)) copy.from = copy.from.slice();
  return copies;
}

function checkApart(group: Copy[]): void {
  group.sort((a, b) => a.into.data.byteOffset - b.into.data.byteOffset);
  let last: Copy | undefined;
  for (const copy of group) {
    const { byteOffset, byteLength } = copy.into.data;
    const before = last?.into.data;
    if (
      last !== undefined &&
      before !== undefined &&
      byteOffset < before.byteOffset + before.byteLength
    ) {
      const same =
        byteOffset === before.byteOffset &&
        byteLength === before.byteLength &&
        equalBytes(last.from, copy.from);
      if (!same) {
        throw treeError(
          "path-conflict",
          copy.path,
          `shares memory with ${at(last.path)}, but the file has different values for them`,
          'use assign: "replace" to give each its own',
        );
      }
    }
    last = copy;
  }
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
