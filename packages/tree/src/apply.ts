import type { Problem, Tensor, TensorjarError } from "@tensorjar/core";
import { describe, tensorBytes } from "@tensorjar/core/codec";
import type { LeafAdapter } from "./leaf.js";
import { at, treeError } from "./path.js";
import { treeMismatch } from "./problems.js";
import type { Frame } from "./visit.js";

/** What one leaf gets: written by its adapter unless there is memory to fill or a value to put in its place. */
export interface Assignment {
  readonly path: string;
  /** The leaf as it was. */
  readonly value: unknown;
  readonly adapter: LeafAdapter | undefined;
  readonly parent: Frame | undefined;
  readonly key: string;
  readonly tensor: Tensor;
  readonly into: Tensor | undefined;
  replaced: boolean;
  replacement: unknown;
}

/** Whether a leaf can be replaced where it stands. */
export function isWritable(parent: Frame | undefined, key: string): boolean {
  if (parent === undefined) return false;
  const { fields, map, twin } = parent;
  if (map !== undefined) return twin === undefined;
  const property = Object.getOwnPropertyDescriptor(fields, key);
  return property?.set !== undefined || (property?.writable === true && twin === undefined);
}

/** Carries out assignments. Whatever an adapter or a setter throws is thrown on, after everything is as it was. */
export function apply(assignments: readonly Assignment[]): void {
  const fills = independent(assignments);
  const written: { undo(): void }[] = [];
  const swaps: Assignment[] = [];
  let swapped = 0;
  try {
    for (const assignment of assignments) {
      const { adapter, value } = assignment;
      if (adapter !== undefined) {
        const outcome = adapter.write(value, assignment.tensor);
        checkOutcome(outcome, assignment.path);
        if ("undo" in outcome) written.push(outcome);
        else if (outcome.replace !== value) {
          assignment.replaced = true;
          assignment.replacement = outcome.replace;
        }
      }
      if (assignment.replaced) swaps.push(assignment);
    }
    checkWritable(swaps);
    for (const swap of swaps) {
      swapped++; // before: a setter that throws may have begun
      put(swap, swap.replacement);
    }
  } catch (error) {
    const undo = written.map((outcome) => () => outcome.undo());
    for (const swap of swaps.slice(0, swapped)) undo.push(() => put(swap, swap.value));
    for (const step of undo.reverse()) attempt(step);
    throw error;
  }
  for (const { into, from } of fills) tensorBytes(into).set(from);
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

function put({ parent, key, path }: Assignment, value: unknown): void {
  if (parent?.map !== undefined) parent.map.set(key, value);
  else if (parent === undefined || !Reflect.set(parent.fields, key, value)) throw readOnly([path]);
}

function checkWritable(swaps: readonly Assignment[]): void {
  // The plan has asked this of all but what adapters replace.
  const fixed = swaps.filter(
    ({ adapter, parent, key }) => adapter !== undefined && !isWritable(parent, key),
  );
  if (fixed.length > 0) throw readOnly(fixed.map(({ path }) => path));
}

function readOnly(paths: readonly string[]): TensorjarError {
  return treeMismatch(paths.map(readOnlyProblem));
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

interface Fill {
  readonly into: Tensor;
  from: Uint8Array;
  readonly path: string;
}

/**
 * What is copied into memory, such that no copy changes what a later one reads.
 * Throws `path-conflict` for leaves that share memory and would be filled with different values.
 */
function independent(assignments: readonly Assignment[]): Fill[] {
  const fills: Fill[] = [];
  const byBuffer = new Map<ArrayBufferLike, Fill[]>();
  for (const { into, tensor, path } of assignments) {
    if (into === undefined || into.data.byteLength === 0) continue;
    const fill = { into, from: tensorBytes(tensor), path };
    fills.push(fill);
    const others = byBuffer.get(into.data.buffer);
    if (others === undefined) byBuffer.set(into.data.buffer, [fill]);
    else others.push(fill);
  }
  for (const group of byBuffer.values()) if (group.length > 1) checkApart(group);
  for (const fill of fills) if (byBuffer.has(fill.from.buffer)) fill.from = fill.from.slice();
  return fills;
}

function checkApart(group: Fill[]): void {
  group.sort((a, b) => a.into.data.byteOffset - b.into.data.byteOffset);
  let last: Fill | undefined;
  for (const fill of group) {
    const { byteOffset, byteLength } = fill.into.data;
    const before = last?.into.data;
    if (
      last !== undefined &&
      before !== undefined &&
      byteOffset < before.byteOffset + before.byteLength
    ) {
      const same =
        byteOffset === before.byteOffset &&
        byteLength === before.byteLength &&
        equalBytes(last.from, fill.from);
      if (!same) {
        throw treeError(
          "path-conflict",
          fill.path,
          `shares memory with ${at(last.path)}, but the file has different values for them`,
          'use assign: "replace" to give each its own',
        );
      }
    }
    last = fill;
  }
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
