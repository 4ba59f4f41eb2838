import { byteLength, TensorjarError } from "@tensorjar/core";
import { quote, shapeText } from "@tensorjar/core/codec";
import { headerName } from "./dtype-names.js";
import type { SafetensorsInfo } from "./header-parser.js";

/** Tensors in the order of their data, and how many bytes they fill. */
export interface Layout {
  readonly tensors: Map<string, SafetensorsInfo>;
  readonly dataLength: number;
}

/**
 * Checks that tensors tile their data, each as large as its dtype and shape say; `dataOffset` is where the data
 * starts in the file. Throws `invalid-offsets` and `invalid-shape`.
 */
export function checkLayout(tensors: Map<string, SafetensorsInfo>, dataOffset: number): Layout {
  const ordered = inDataOrder(tensors);
  let previous = "";
  let filled = 0;
  for (const [name, { begin, end }] of ordered) {
    if (begin !== filled || end < begin) {
      const fault =
        end < begin
          ? "ends before it begins"
          : filled === 0
            ? "is the first, which must start at 0"
            : begin < filled
              ? `overlaps ${quote(previous)}, which ends at ${filled}`
              : `leaves a gap after ${quote(previous)}, which ends at ${filled}`;
      throw tensorError("invalid-offsets", name, `with data_offsets [${begin}, ${end}] ${fault}`, {
        offset: dataOffset + begin,
        expected: filled,
        actual: begin,
      });
    }
    filled = end;
    previous = name;
  }
  for (const [name, { dtype, shape, begin, end }] of ordered) {
    const bytes = sizeOf(name, dtype, shape);
    if (bytes !== end - begin) {
      throw tensorError(
        "invalid-offsets",
        name,
        `of dtype ${headerName(dtype)} and shape ${shapeText(shape)} takes ${bytes} bytes, but its data_offsets [${begin}, ${end}] span ${end - begin}`,
        { offset: dataOffset + begin, expected: bytes, actual: end - begin },
      );
    }
  }
  return { tensors: ordered, dataLength: filled };
}

/** Bytes of a tensor's data; errors name it. Throws `invalid-shape` and `invalid-dtype`. */
export function sizeOf(
  name: string,
  dtype: SafetensorsInfo["dtype"],
  shape: readonly number[],
): number {
  try {
    return byteLength(dtype, shape);
  } catch (cause) {
    if (!(cause instanceof TensorjarError)) throw cause;
    throw tensorError(
      cause.code,
      name,
      `of dtype ${headerName(dtype) ?? dtype}: ${cause.message}`,
      cause.details,
    );
  }
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
  let last: SafetensorsInfo | undefined;
  for (const info of tensors.values()) {
    if (last !== undefined && compare(last, info) > 0) {
      return new Map([...tensors].sort(([, a], [, b]) => compare(a, b)));
    }
    last = info;
  }
  return tensors;
}

function compare(a: SafetensorsInfo, b: SafetensorsInfo): number {
  return a.begin - b.begin || a.end - b.end;
}
