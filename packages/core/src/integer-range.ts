import { type DType, dtypeInfo } from "./dtype.js";

export type IntegerDType = Extract<DType, `int${number}` | `uint${number}`>;

export function isIntegerDType(dtype: DType): dtype is IntegerDType {
  return /^u?int/.test(dtype);
}

/** The smallest and the largest integer of a dtype. */
export function integerRange(dtype: IntegerDType): readonly [min: bigint, max: bigint] {
  const { bits, kind } = dtypeInfo(dtype);
  return kind === "uint"
    ? [0n, (1n << BigInt(bits)) - 1n]
    : [-(1n << BigInt(bits - 1)), (1n << BigInt(bits - 1)) - 1n];
}
