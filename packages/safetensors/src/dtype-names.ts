import type { DType } from "@tensorjar/core";
import { dataConstructor } from "@tensorjar/core/codec";
import { tensorFault } from "./layout.js";

/** The name of each dtype in a header, in the reference's order; complex128 has none. */
const names: { readonly [D in DType]: string } = {
  bool: "BOOL",
  float4_e2m1fn: "F4",
  float6_e2m3fn: "F6_E2M3",
  float6_e3m2fn: "F6_E3M2",
  uint8: "U8",
  int8: "I8",
  float8_e5m2: "F8_E5M2",
  float8_e4m3fn: "F8_E4M3",
  float8_e8m0fnu: "F8_E8M0",
  float8_e4m3fnuz: "F8_E4M3FNUZ",
  float8_e5m2fnuz: "F8_E5M2FNUZ",
  int16: "I16",
  uint16: "U16",
  float16: "F16",
  bfloat16: "BF16",
  int32: "I32",
  uint32: "U32",
  float32: "F32",
  complex64: "C64",
  float64: "F64",
  int64: "I64",
  uint64: "U64",
  complex128: "",
};

const dtypes: ReadonlyMap<string, DType> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(names).map(([dtype, name]) => [name, dtype as DType]), // the table's own keys
);

const order: readonly string[] = /* @__PURE__ */ Object.keys(names);

/** The dtype that a header calls `name`. */
export function dtypeCalled(name: string): DType | undefined {
  return name === "" ? undefined : dtypes.get(name);
}

/** What a header calls a dtype, and `undefined` for one that the format does not have. */
export function headerName(dtype: DType): string | undefined {
  return names[dtype] || undefined;
}

/** Throws `invalid-dtype` for what is none, `unsupported` for one that the format does not have. */
export function checkDType(dtype: DType, name: string): void {
  dataConstructor(dtype, name);
  if (headerName(dtype) !== undefined) return;
  const hint = "save it as .npy or .npz, or as two tensors";
  throw tensorFault("unsupported", name, `has the dtype ${dtype}, which the format does not have`, {
    actual: dtype,
    hint,
  });
}

/** Where a dtype stands in the reference's order, which is also the writer's: larger comes first in the file. */
export function dtypeRank(dtype: DType): number {
  return order.indexOf(dtype);
}
