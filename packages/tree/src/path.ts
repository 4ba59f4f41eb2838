import { type ErrorCode, TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

/** The most segments a path may have. */
export const maxDepth = 1000;

export function tooDeep(path: string): TensorjarError {
  return new TensorjarError(
    "limit-exceeded",
    `the tree is nested deeper than ${maxDepth} levels at ${quote(path)}`,
    { path, expected: maxDepth },
  );
}

/** A path as it stands in messages. */
export function at(path: string): string {
  return path === "" ? "the root of the tree" : quote(path);
}

/** The error for what stands at a path: `text` says what is wrong with it, `hint` what to do. */
export function treeError(
  code: ErrorCode,
  path: string,
  text: string,
  hint: string,
): TensorjarError {
  return new TensorjarError(code, `${at(path)} ${text}`, { path, hint });
}
