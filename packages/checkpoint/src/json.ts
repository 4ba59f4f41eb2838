import { TensorjarError } from "@tensorjar/core";
import { describe } from "@tensorjar/core/codec";

/** Levels of nesting that are read and written; the same bound as for trees. */
export const maxDepth = 1000;

/** What JSON text holds. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/**
 * The JSON text of `value`, called `path` in messages: compact, keys in their order, `-0` kept.
 * Throws `invalid-argument` for anything that would not come back equal, naming where it stands.
 */
export function jsonText(value: unknown, path: string): string {
  return textOf(value, path, []);
}

function textOf(value: unknown, path: string, parents: readonly object[]): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number" && Number.isFinite(value)) {
    return Object.is(value, -0) ? "-0" : String(value);
  }
  if (typeof value !== "object") throw notJson(path, describe(value));
  if (parents.includes(value)) throw notJson(path, "one of its own parents");
  if (parents.length >= maxDepth) {
    throw new TensorjarError("limit-exceeded", `${path} is nested deeper than ${maxDepth} levels`, {
      path,
      expected: maxDepth,
    });
  }
  const below = [...parents, value];
  if (Array.isArray(value)) {
    // Array.from visits holes too, which JSON cannot hold.
    const items = Array.from(value, (item: unknown, i) => textOf(item, `${path}[${i}]`, below));
    return `[${items.join(",")}]`;
  }
  if (!isPlain(value)) throw notJson(path, describe(value));
  const members = Object.entries(value).map(
    ([key, item]: [string, unknown]) =>
      `${JSON.stringify(key)}:${textOf(item, `${path}.${key}`, below)}`,
  );
  return `{${members.join(",")}}`;
}

/** Whether `value` is an object literal, also of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    prototype === null ||
    (Object.prototype.toString.call(value) === "[object Object]" &&
      Object.getPrototypeOf(prototype) === null)
  );
}

function notJson(path: string, what: string): TensorjarError {
  return new TensorjarError("invalid-argument", `${path} is ${what}, which JSON cannot hold`, {
    path,
    hint: "use null, booleans, finite numbers, strings, arrays and plain objects of these",
  });
}

/** A frozen copy of a JSON value, called `path` in messages, and its text. Throws what {@link jsonText} throws. */
export function copyJson(
  value: unknown,
  path: string,
): { readonly json: Json; readonly text: string } {
  const text = jsonText(value, path);
  const json: Json = JSON.parse(text);
  freeze(json, true);
  return { json, text };
}

/**
 * The value of JSON text, frozen; `undefined` for what is no JSON, is nested deeper than is written, or, where all
 * numbers must be `finite`, has one past the range of doubles.
 */
export function readJson(text: string, finite: boolean): Json | undefined {
  try {
    const json: Json = JSON.parse(text);
    return freeze(json, finite) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Freezes a value that JSON.parse made, level by level. Tells whether it can be written again. */
function freeze(value: Json, finite: boolean): boolean {
  let writable = true;
  let depth = 0;
  for (let level = [value]; level.length > 0; depth++) {
    const next: Json[] = [];
    for (const item of level) {
      if (typeof item === "number") writable &&= !finite || Number.isFinite(item);
      if (typeof item !== "object" || item === null) continue;
      writable &&= depth < maxDepth;
      Object.freeze(item);
      for (const inner of Object.values<Json>(item)) next.push(inner);
    }
    level = next;
  }
  return writable;
}

/** Whether `other` is the JSON value `value`, with its keys in the same order; -0 is not 0. */
export function sameJson(value: Json, other: unknown): boolean {
  if (typeof value !== "object" || value === null) return Object.is(value, other);
  if (typeof other !== "object" || other === null) return false;
  const lists = Array.isArray(value) && Array.isArray(other) && value.length === other.length;
  if (!lists && (Array.isArray(value) || !isPlain(other))) return false;
  const theirs: [string, unknown][] = Object.entries(other);
  const ours = Object.entries<Json>(value);
  return (
    ours.length === theirs.length &&
    ours.every(([key, item], i) => key === theirs[i]?.[0] && sameJson(item, theirs[i][1]))
  );
}

/** Whether a parsed JSON value is an object, not an array. */
export function isJsonObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Throws `invalid-argument` when `value` is no count of updates: an integer from 0 to 2^53−1. */
export function checkStep(value: unknown, path: string): asserts value is number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return;
  throw new TensorjarError("invalid-argument", `${path} is ${describe(value)}`, {
    path,
    actual: value,
    hint: "a step is an integer from 0 to 2^53-1, the number of updates made",
  });
}

/** A path below another, as trees join them: the root leaf has the path of what it is under. */
export function below(prefix: string, path: string): string {
  return path === "" ? prefix : `${prefix}.${path}`;
}

/** Several faults as one message, with what stands behind each name quoted by the caller. */
export function listed(lines: readonly string[]): string {
  const shown = lines.slice(0, 50).map((line) => `\n- ${line}`);
  if (lines.length > shown.length) shown.push(`\n- and ${lines.length - shown.length} more`);
  return shown.join("");
}
