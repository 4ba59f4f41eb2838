import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

/** The error for a checkpoint of a version that this code does not know yet, given in digits: of any number of them. */
export function newerVersion(version: string, newest: number): TensorjarError {
  const shown = version.length > 20 ? quote(version) : version;
  const actual = Number.isSafeInteger(Number(version)) ? Number(version) : version;
  return new TensorjarError(
    "unsupported-version",
    `the checkpoint has version ${shown}, the newest that is known here is ${newest}`,
    { expected: newest, actual, hint: "update @tensorjar/checkpoint" },
  );
}
