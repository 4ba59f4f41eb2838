import {
  type AnyTensor,
  type DType,
  dtypeInfo,
  type Tensor,
  type TensorFile,
  zeros,
} from "tensorjar";

/** Bytes that are computed with at a time: a few milliseconds of work. */
const pieceBytes = 1 << 20;

const dtypes: readonly string[] = [
  ..."bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64".split(
    " ",
  ),
  ..."complex64 complex128 float8_e4m3fn float8_e5m2 float8_e8m0fnu".split(" "),
  ..."float8_e4m3fnuz float8_e5m2fnuz float4_e2m1fn".split(" "),
];

/** Whether there are numbers to compute with: not in strings, dates and records, nor in float6, whose packing is not fixed. */
export function isNumeric(dtype: string): dtype is DType {
  return dtypes.includes(dtype);
}

/** One tensor as flat tensors of at most 1 MiB, in C order. */
export async function* pieces(
  file: TensorFile<AnyTensor>,
  name: string,
  dtype: DType,
  signal: AbortSignal,
): AsyncGenerator<Tensor> {
  const { bits } = dtypeInfo(dtype);
  let waiting: Uint8Array[] = [];
  let length = 0;
  const piece = (): Tensor => {
    const tensor = zeroTensor([(length * 8) / bits], dtype);
    const bytes = bytesOf(tensor);
    let at = 0;
    for (const part of waiting) {
      bytes.set(part, at);
      at += part.length;
    }
    waiting = [];
    length = 0;
    return tensor;
  };
  for await (const chunk of file.chunks(name, { signal })) {
    for (let at = 0; at < chunk.length; ) {
      signal.throwIfAborted();
      const part = chunk.subarray(at, at + pieceBytes - length);
      waiting.push(part);
      length += part.length;
      at += part.length;
      if (length === pieceBytes) yield piece();
    }
  }
  if (length > 0) yield piece();
}

/** A tensor of zeros whose dtype is only known as the page runs. */
export function zeroTensor(shape: readonly number[], dtype: DType): Tensor {
  return zeros(shape, dtype) as Tensor; // its data is what its dtype says
}

/** The memory of a tensor. */
export function bytesOf({ data }: Tensor): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
