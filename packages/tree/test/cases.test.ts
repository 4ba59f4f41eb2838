import { type Tensor, tensor, zeros } from "@tensorjar/core";
import { flattenTree, loadTree, unflattenTree } from "@tensorjar/tree";
import { describe, expect, test } from "vitest";
import { type Case, type ExpectedError, loadCases } from "../../../tooling/cases.js";
import { type ArrayRecord, expectError, expectRecord } from "../../../tooling/testing.js";

type Node =
  | null
  | number
  | string
  | { readonly array: ArrayRecord }
  | { readonly dict: readonly (readonly [string, Node])[] }
  | { readonly list: readonly Node[] };
type Pairs = readonly (readonly [string, Node])[];

interface Outcome {
  readonly expect: "ok" | "error";
  readonly error?: ExpectedError;
  readonly pairs?: Pairs;
  readonly result?: Node;
}

interface TreeCase extends Case, Outcome {
  readonly op: "flatten" | "unflatten" | "load" | "save";
  readonly tree?: Node;
  readonly target?: Node;
  readonly prefix?: string;
  readonly anyOrder?: boolean;
  readonly or?: readonly Outcome[];
}

/** Any number or string stands for an array of our choice: one for each. */
const standIns = new Map<number | string, Tensor>();

function standIn(value: number | string): Tensor {
  let leaf = standIns.get(value);
  if (leaf === undefined) {
    leaf = tensor(Float64Array.of(standIns.size));
    standIns.set(value, leaf);
  }
  return leaf;
}

function toTree(node: Node): unknown {
  if (node === null) return null;
  if (typeof node !== "object") return standIn(node);
  if ("array" in node) return zeros(node.array.shape, node.array.dtype as "float32");
  if ("list" in node) return node.list.map(toTree);
  const fields: Record<string, unknown> = Object.create(null);
  for (const [key, child] of node.dict) fields[key] = toTree(child);
  return fields;
}

async function expectTree(actual: unknown, node: Node): Promise<void> {
  if (node === null || typeof node !== "object") {
    expect(actual).toBe(toTree(node));
  } else if ("array" in node) {
    await expectRecord(actual as Tensor, node.array);
  } else if ("list" in node) {
    expect(Array.isArray(actual)).toBe(true);
    expect(actual).toHaveLength(node.list.length);
    for (const [i, child] of node.list.entries()) await expectTree((actual as unknown[])[i], child);
  } else {
    expect(Array.isArray(actual)).toBe(false);
    expect(Object.getPrototypeOf(actual)).toBe(null);
    const fields = actual as Record<string, unknown>;
    expect(Object.keys(fields).sort()).toEqual(node.dict.map(([key]) => key).sort());
    for (const [key, child] of node.dict) await expectTree(fields[key], child);
  }
}

/** The tensors of a safetensors file of a case; enough of the format for these files, whose codec is another package. */
function tensorsOf(bytes: Uint8Array): Map<string, Tensor> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header: Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }> =
    JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const tensors = new Map<string, Tensor>();
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const own = bytes.slice(start + data_offsets[0], start + data_offsets[1]);
    if (dtype === "I32") tensors.set(name, tensor(new Int32Array(own.buffer), shape));
    else if (dtype === "F32") tensors.set(name, tensor(new Float32Array(own.buffer), shape));
    else if (dtype === "U8") tensors.set(name, tensor(own, shape));
    else throw new Error(`a case with the dtype ${dtype}`);
  }
  return tensors;
}

const { cases, read } = await loadCases<TreeCase>("tree");

async function run(c: TreeCase): Promise<unknown> {
  switch (c.op) {
    case "flatten":
    case "save":
      return flattenTree(toTree(c.tree ?? null));
    case "unflatten": {
      if (c.file)
        expect([...tensorsOf(await read(c.file)).keys()].sort()).toEqual(
          (c.pairs ?? []).map(([path]) => path).sort(),
        );
      return unflattenTree((c.pairs ?? []).map(([path, leaf]) => [path, toTree(leaf) as Tensor]));
    }
    case "load": {
      const target = toTree(c.target ?? null);
      loadTree(target, tensorsOf(await read(c.file ?? "")));
      return target;
    }
  }
}

async function expectOutcome(c: TreeCase, outcome: Outcome): Promise<void> {
  if (outcome.expect === "error") {
    await expectError(() => run(c), outcome.error);
    return;
  }
  const actual = await run(c);
  if (outcome.result !== undefined) return expectTree(actual, outcome.result);
  const pairs = (outcome.pairs ?? []).map(([path, leaf]) => [path, toTree(leaf)] as const);
  if (c.anyOrder) expect(actual).toEqual(new Map(pairs));
  else expect([...(actual as Map<string, Tensor>)]).toEqual(pairs);
}

/** Some cases leave more than one outcome open. */
async function expectOneOf(c: TreeCase): Promise<void> {
  const failures: unknown[] = [];
  for (const outcome of [c, ...(c.or ?? [])]) {
    try {
      return await expectOutcome(c, outcome);
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures[0];
}

/** What saving adds to flattening is the container's: this name is refused by safetensors. */
const elsewhere = new Set(["tree-save-reserved-name"]);

describe("cases/tree", () => {
  for (const c of cases) {
    if (c.prefix !== undefined || elsewhere.has(c.id)) continue;
    test(`${c.id}: ${c.title}`, async () => {
      const before = Object.getOwnPropertyNames(Object.prototype);
      await expectOneOf(c);
      expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    });
  }
});
