import type { Tensor } from "@tensorjar/core";
import type { StructField } from "./descr.js";

/** Text of at most `itemLength` code points each (NumPy's `U`). */
export interface NpyStrings {
  readonly dtype: "string";
  readonly shape: readonly number[];
  readonly data: string[];
  readonly itemLength: number;
}

/** Byte strings of `itemSize` bytes each, filled up with zeros (NumPy's `S`). */
export interface NpyBytes {
  readonly dtype: "bytes";
  readonly shape: readonly number[];
  readonly data: Uint8Array;
  readonly itemSize: number;
}

/** Counts of `unit` (`D`, `ns`, `25s`; empty for NumPy's generic unit) since 1970; −2^63 is NaT. */
export interface NpyDatetimes {
  readonly dtype: "datetime64" | "timedelta64";
  readonly shape: readonly number[];
  readonly data: BigInt64Array;
  readonly unit: string;
}

/** Raw items of `itemSize` bytes each (NumPy's `V`). */
export interface NpyVoid {
  readonly dtype: "void";
  readonly shape: readonly number[];
  readonly data: Uint8Array;
  readonly itemSize: number;
}

/** Records of `itemSize` bytes each, as stored (fields keep their byte order), in C order; `structField` reads one field. */
export interface NpyStruct {
  readonly dtype: "struct";
  readonly shape: readonly number[];
  readonly data: Uint8Array;
  readonly itemSize: number;
  readonly fields: readonly StructField[];
}

/** Whatever an .npy file holds; testing `dtype` narrows it, `isTensor` tells the numeric ones. */
export type NpyArray = Tensor | NpyStrings | NpyBytes | NpyDatetimes | NpyVoid | NpyStruct;
