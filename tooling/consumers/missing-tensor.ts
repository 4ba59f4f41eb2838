// Converts a tensor that may be missing: the types allow it, the library says `not-found`.
import { decodeNpz, isTensorjarError, toFloat32, toFloat64 } from "tensorjar";

export function losses(archive: Uint8Array): Float64Array | undefined {
  const arrays = decodeNpz(archive);
  try {
    return toFloat64(arrays.get("loss"));
  } catch (error) {
    if (!isTensorjarError(error, "not-found", "invalid-dtype")) throw error;
    const code: "not-found" | "invalid-dtype" = error.code;
    console.log(code, error.details.expected, error.message);
    return undefined;
  }
}

export const first = (archive: Uint8Array): number | undefined =>
  toFloat32(decodeNpz(archive).get("loss"))[0];
