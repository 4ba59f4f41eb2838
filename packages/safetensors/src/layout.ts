import { type DType, dtypeInfo, TensorjarError } from "@tensorjar/core";
import { describe, quote, shapeText } from "@tensorjar/core/codec";
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
  // Names are looked up for errors only: pairs of a large Map take time.
  const wrong = (info: SafetensorsInfo, fault: string): TensorjarError =>
    tensorError(
      "invalid-offsets",
      nameOf(ordered, info),
      `has data_offsets [${info.begin}, ${info.end}], but ${fault}`,
      { offset: dataOffset + info.begin },
    );
  let filled = 0;
  for (const info of ordered.values()) {
    const { begin, end } = info;
    if (end < begin) throw wrong(info, "ends before it begins");
    if (begin !== filled) throw wrong(info, `must begin at ${filled}, where the one before ends`);
    filled = end;
  }
  for (const info of ordered.values()) {
    const bytes = bytesOf(info);
    if (bytes !== info.end - info.begin) {
      const { dtype, shape } = info;
      throw Number.isNaN(bytes)
        ? invalidShape(nameOf(ordered, info), info)
        : wrong(info, `its shape ${shapeText(shape)} of ${dtype} takes ${bytes} bytes`);
    }
  }
  return ordered;
}

function nameOf(tensors: ReadonlyMap<string, SafetensorsInfo>, wanted: SafetensorsInfo): string {
  for (const [name, info] of tensors) if (info === wanted) return name;
  return "";
}

/** Bits of an element of the dtypes met so far. */
const bitsOf = /* @__PURE__ */ new Map<DType, number>();

/** Bytes of a tensor's data, or NaN for a shape that cannot be. */
function bytesOf({ dtype, shape }: Shaped): number {
  let bits = bitsOf.get(dtype);
  if (bits === undefined) {
    bits = dtypeInfo(dtype).bits;
    bitsOf.set(dtype, bits);
  }
  if (!Array.isArray(shape)) return Number.NaN;
  let count = 1;
  for (let axis = 0; axis < shape.length; axis++) {
    const dim = shape[axis] as number; // axis is within shape
    if (!Number.isSafeInteger(dim) || dim < 0) return Number.NaN;
    count *= dim;
    if (!Number.isSafeInteger(count)) return Number.NaN;
  }
  const bytes = (bits / 8) * count;
  return Number.isSafeInteger(bytes) ? bytes : Number.NaN;
}

interface Shaped {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** Bytes of a tensor's data. Throws `invalid-shape` and `invalid-dtype`. */
export function sizeOf(name: string, tensor: Shaped): number {
  const bytes = bytesOf(tensor);
  if (Number.isNaN(bytes)) throw invalidShape(name, tensor);
  return bytes;
}

function invalidShape(name: string, { dtype, shape }: Shaped): TensorjarError {
  return tensorError(
    "invalid-shape",
    name,
    `of ${dtype} cannot have the shape ${Array.isArray(shape) ? shapeText(shape) : describe(shape)}`,
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
