import { type DType, dtypeInfo, TensorjarError } from "@tensorjar/core";
import { quote, shapeText } from "@tensorjar/core/codec";
import type { SafetensorsInfo } from "./header-parser.js";

/**
 * The tensors in the order of their data, which they tile, each as large as its dtype and shape say; `dataOffset` is
 * where the data starts in the file. Throws `invalid-offsets` and `invalid-shape`.
 */
export function checkLayout(
  tensors: Map<string, SafetensorsInfo>,
  dataOffset: number,
): Map<string, SafetensorsInfo> {
  const ordered = inDataOrder(tensors);
  let filled = 0;
  const wrong = (name: string, { begin, end }: SafetensorsInfo, fault: string): TensorjarError =>
    tensorError("invalid-offsets", name, `has data_offsets [${begin}, ${end}], but ${fault}`, {
      offset: dataOffset + begin,
    });
  for (const [name, info] of ordered) {
    const { begin, end } = info;
    if (begin !== filled || end < begin) {
      throw wrong(
        name,
        info,
        end < begin
          ? "ends before it begins"
          : `must begin at ${filled}, where the one before ends`,
      );
    }
    filled = end;
  }
  for (const [name, info] of ordered) {
    const bytes = sizeOf(name, info);
    if (bytes !== info.end - info.begin) {
      throw wrong(
        name,
        info,
        `its shape ${shapeText(info.shape)} of ${info.dtype} takes ${bytes} bytes`,
      );
    }
  }
  return ordered;
}

/** Bytes of a tensor's data. Throws `invalid-shape` and `invalid-dtype`. */
export function sizeOf(
  name: string,
  { dtype, shape }: { readonly dtype: DType; readonly shape: readonly number[] },
): number {
  const { bits } = dtypeInfo(dtype);
  let bytes = bits / 8;
  let count = 1;
  for (const dim of shape) {
    count *= dim;
    if (!Number.isSafeInteger(dim) || !(dim >= 0) || !Number.isSafeInteger(count))
      bytes = Number.NaN;
  }
  bytes *= count;
  if (Number.isSafeInteger(bytes)) return bytes;
  throw tensorError(
    "invalid-shape",
    name,
    `of ${dtype} cannot have the shape ${shapeText(shape)}`,
    {
      actual: shape,
      hint: "dimensions, elements and whole bytes are integers from 0 to 2^53-1",
    },
  );
}

/** An error of one tensor: its message starts with the name. */
export function tensorError<C extends TensorjarError["code"]>(
  code: C,
  name: string,
  message: string,
  details: TensorjarError["details"] = {},
): TensorjarError<C> {
  return new TensorjarError(code, `tensor ${quote(name)} ${message}`, { ...details, name });
}

/** Sorted by where their data begins, then ends; otherwise in the order given. */
function inDataOrder(tensors: Map<string, SafetensorsInfo>): Map<string, SafetensorsInfo> {
  let last = 0;
  for (const { begin, end } of tensors.values()) {
    if (begin < last || end < begin)
      return new Map([...tensors].sort(([, a], [, b]) => byPlace(a, b)));
    last = end;
  }
  return tensors;
}

export function byPlace(a: SafetensorsInfo, b: SafetensorsInfo): number {
  return a.begin - b.begin || a.end - b.end;
}
