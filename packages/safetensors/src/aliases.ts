import { TensorjarError } from "@tensorjar/core";
import { compareNames, quote } from "@tensorjar/core/codec";
import type { CheckedEntry } from "./write-plan.js";

/** What a writer does with names that share memory. */
export type AliasMode = "refuse" | "copy" | "metadata";

interface Placed {
  readonly entry: CheckedEntry;
  readonly begin: number;
  readonly end: number;
}

/**
 * The entries to write. With `metadata`, of names that share memory only the alphabetically first that covers them
 * all, the others being recorded in `metadata`. Throws `invalid-argument`.
 */
export function dropAliases(
  entries: CheckedEntry[],
  mode: AliasMode,
  metadata: Map<string, string>,
): CheckedEntry[] {
  if (mode === "copy") return entries;
  if (mode !== "refuse" && mode !== "metadata") {
    throw new TensorjarError("invalid-argument", `aliases is ${quote(mode)}`, {
      hint: 'it is "refuse", "copy" or "metadata"',
    });
  }
  const dropped = new Set<CheckedEntry>();
  for (const group of sharedGroups(entries)) {
    const [first, second] = group;
    if (first === undefined || second === undefined) continue;
    if (mode === "refuse") {
      const names = [first.entry.name, second.entry.name];
      throw new TensorjarError(
        "invalid-argument",
        `tensors ${names.map(quote).join(" and ")} share memory`,
        {
          name: second.entry.name,
          hint: 'aliases: "copy" writes each, aliases: "metadata" writes one and records the other names',
        },
      );
    }
    const end = group.reduce((most, placed) => Math.max(most, placed.end), 0);
    const kept = group
      .filter((placed) => placed.begin === first.begin && placed.end === end)
      .map((placed) => placed.entry)
      .sort((a, b) => compareNames(a.name, b.name))[0];
    if (kept === undefined) {
      const names = group.slice(0, 5).map(({ entry }) => quote(entry.name));
      throw new TensorjarError(
        "invalid-argument",
        `tensors ${names.join(", ")} share memory and none covers all of it`,
        {
          hint: 'aliases: "copy" writes each',
        },
      );
    }
    for (const { entry } of group) {
      if (entry === kept) continue;
      if ((metadata.get(entry.name) ?? kept.name) !== kept.name) {
        throw new TensorjarError(
          "invalid-argument",
          `tensor ${quote(entry.name)} is to be recorded as another name of ${quote(kept.name)}, but the metadata has that key`,
          { name: entry.name, hint: 'change the key, or use aliases: "copy"' },
        );
      }
      metadata.set(entry.name, kept.name);
      dropped.add(entry);
    }
  }
  return entries.filter((entry) => !dropped.has(entry));
}

/** Tensors in memory whose bytes overlap, directly or through others; those of no bytes never do. */
function sharedGroups(entries: readonly CheckedEntry[]): Placed[][] {
  if (!areShared(entries)) return [];
  const buffers = new Map<ArrayBufferLike, Placed[]>();
  for (const entry of entries) {
    const { data } = entry.source;
    if (typeof data === "function" || entry.bytes === 0) continue;
    const placed = { entry, begin: data.byteOffset, end: data.byteOffset + entry.bytes };
    const others = buffers.get(data.buffer);
    if (others === undefined) buffers.set(data.buffer, [placed]);
    else others.push(placed);
  }
  const groups: Placed[][] = [];
  for (const inBuffer of buffers.values()) {
    inBuffer.sort((a, b) => a.begin - b.begin);
    let group: Placed[] = [];
    let reach = -1;
    for (const placed of inBuffer) {
      if (placed.begin >= reach) {
        group = [];
        groups.push(group);
      }
      group.push(placed);
      reach = Math.max(reach, placed.end);
    }
  }
  return groups;
}

/** Whether two tensors at least lie in one buffer: mostly none do, and nothing has to be put in order. */
function areShared(entries: readonly CheckedEntry[]): boolean {
  const buffers = new Set<ArrayBufferLike>();
  let tensors = 0;
  for (const { source, bytes } of entries) {
    const { data } = source;
    if (typeof data === "function" || bytes === 0) continue;
    buffers.add(data.buffer);
    tensors++;
  }
  return buffers.size < tensors;
}
