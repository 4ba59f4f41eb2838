import type { TensorjarError } from "@tensorjar/core";

/** Faults of the way to a file rather than of the file. */
const transient = ["io", "http", "source-changed", "limit-exceeded"];
const tries = 3;

/** Whether reading a file that failed so is worth another attempt. */
export function mayPass({ code }: TensorjarError, attempt: number): boolean {
  return attempt < tries && transient.includes(code);
}
