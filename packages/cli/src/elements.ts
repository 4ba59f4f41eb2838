import { allocate, isDType, tensorFromBytes } from "@tensorjar/core/codec";
import {
  type AnyTensor,
  byteLength,
  type DType,
  dtypeInfo,
  type TensorFile,
  type TensorOf,
} from "tensorjar";

/** Bytes that are computed with at a time. */
const mostBytes = 4 << 20;

/** Whether there are numbers to compute with: not in strings, structs and the like, not in float6. */
export function isNumeric(dtype: string): dtype is DType {
  return isDType(dtype) && dtypeInfo(dtype).bits !== 6;
}

/**
 * One tensor in flat pieces of at most about 4 MiB that never cut `unit` bytes (by default 16, which holds every element),
 * each in aligned memory that the next one reuses.
 */
export async function* pieces<D extends DType>(
  file: TensorFile<AnyTensor>,
  name: string,
  { dtype, byteLength: total }: { dtype: D; byteLength: number },
  unit = 16,
): AsyncGenerator<TensorOf<D>> {
  const units = Math.min(Math.floor(mostBytes / unit), Math.ceil(total / unit));
  const memory = allocate(Math.max(1, units) * unit);
  let filled = 0;
  const piece = (): TensorOf<D> => {
    const count = (filled * 8) / dtypeInfo(dtype).bits;
    return tensorFromBytes(dtype, [count], memory.subarray(0, byteLength(dtype, [count])));
  };
  for await (const chunk of file.chunks(name)) {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + memory.length - filled);
      memory.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled === memory.length) {
        yield piece();
        filled = 0;
      }
    }
  }
  if (filled > 0) yield piece();
}
