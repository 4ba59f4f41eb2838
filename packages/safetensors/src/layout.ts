import { byteLength, type ErrorCode, type ErrorDetails, TensorjarError } from "@tensorjar/core";
import { quote, shapeText } from "@tensorjar/core/codec";
import type { SafetensorsInfo } from "./header-parser.js";

type Infos = Map<string, SafetensorsInfo>;

/**
 * The tensors in the order of their data, which they tile, each as large as its dtype and shape say, and where the
 * last one ends; `dataOffset` is where the data starts in the file. Throws `invalid-offsets` and `invalid-shape`.
 */
export function checkLayout(tensors: Infos, dataOffset: number): [ordered: Infos, end: number] {
  const wrong = (
    name: string,
    { begin, end }: SafetensorsInfo,
    fault: string,
    expected: number,
    actual: number,
  ): TensorjarError =>
    tensorFault("invalid-offsets", name, `has data_offsets [${begin}, ${end}], but ${fault}`, {
      offset: dataOffset + begin,
      expected,
      actual,
    });
  let ordered = tensors;
  let filled = 0;
  /** Of the first tensor that does not begin where the one before ends. */
  const misplaced = (): TensorjarError | undefined => {
    filled = 0;
    let error: TensorjarError | undefined;
    ordered.forEach((info, name) => {
      // which makes no pairs: they take time
      if (info.begin !== filled || info.end < filled)
        error ??= wrong(
          name,
          info,
          `must begin at ${filled}, where the one before ends, and not end before`,
          filled,
          info.begin === filled ? info.end : info.begin,
        );
      filled = info.end;
    });
    return error;
  };
  if (misplaced()) {
    ordered = new Map([...tensors].sort(([, a], [, b]) => byPlace(a, b)));
    const error = misplaced();
    if (error) throw error;
  }
  ordered.forEach((info, name) => {
    const { dtype, shape, begin, end } = info;
    const bytes = byteLength(dtype, shape, name);
    if (bytes !== end - begin) {
      const fault = `its shape ${shapeText(shape)} of ${dtype} takes ${bytes} bytes`;
      throw wrong(name, info, fault, bytes, end - begin);
    }
  });
  return [ordered, filled];
}

/** An error of one tensor of a file: its message starts with the name. */
export function tensorFault(
  code: ErrorCode,
  name: string,
  message: string,
  details?: ErrorDetails,
): TensorjarError {
  return new TensorjarError(code, `tensor ${quote(name)} ${message}`, { ...details, name });
}

/** Orders by where the data begins, then ends. */
export function byPlace(a: SafetensorsInfo, b: SafetensorsInfo): number {
  return a.begin - b.begin || a.end - b.end;
}
