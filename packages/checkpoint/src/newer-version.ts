import { TensorjarError } from "@tensorjar/core";

/** The error for a checkpoint of a version that this code does not know yet. */
export function newerVersion(version: number, newest: number): TensorjarError {
  return new TensorjarError(
    "unsupported-version",
    `the checkpoint has version ${version}, the newest that is known here is ${newest}`,
    { expected: newest, actual: version, hint: "update @tensorjar/checkpoint" },
  );
}
