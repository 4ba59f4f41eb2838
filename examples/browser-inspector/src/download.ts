import {
  type Chunks,
  isTensor,
  type NpyArray,
  npyChunks,
  npzChunks,
  safetensorsChunks,
  type Tensor,
  TensorjarError,
  tensor,
  toFloat32,
} from "tensorjar";
import { isNumeric } from "./numbers.js";
import { arraysOf, infoOf, type OpenedFile, type Row } from "./opened-file.js";

export type FileKind = "npy" | "npz" | "safetensors";

/** Whether NumPy has no name for a dtype, so that it is written as float32, which holds each of its numbers. */
export function widens(dtype: string): boolean {
  return /^(bfloat16|float8|float4)/.test(dtype);
}

/** One tensor as a file of its own. A safetensors file is made in pieces, the others with the array in memory. */
export async function fileOf(
  opened: OpenedFile,
  row: Row,
  kind: FileKind,
  signal: AbortSignal,
): Promise<File> {
  const name = row.name === "" ? "array" : row.name;
  const fileName = `${name.replace(/[^\p{L}\p{N}._-]+/gu, "_")}.${kind}`;
  const parts: Blob[] = [];
  for await (const chunk of await chunksOf(opened, row, name, kind, signal)) {
    parts.push(new Blob([chunk])); // the browser may put it on disk
  }
  return new File(parts, fileName, { type: "application/octet-stream" });
}

async function chunksOf(
  opened: OpenedFile,
  row: Row,
  name: string,
  kind: FileKind,
  signal: AbortSignal,
): Promise<Chunks["chunks"]> {
  const file = arraysOf(opened);
  if (kind === "safetensors") {
    const { dtype, shape } = await infoOf(opened, row);
    if (!isNumeric(dtype) && !dtype.startsWith("float6")) throw onlyNumbers(dtype);
    const producer = {
      name,
      // float6 is the one other dtype that safetensors names
      dtype: dtype as Tensor["dtype"],
      shape,
      data: () => file.chunks(row.name, { signal }),
    };
    return safetensorsChunks([producer]).chunks;
  }
  const { byteLength } = await infoOf(opened, row);
  if (byteLength > mostInMemory) throw tooLarge(byteLength);
  const array = await file.get(row.name, { signal });
  const written = isTensor(array) && widens(array.dtype) ? widened(array) : array;
  return kind === "npy" ? npyChunks(written).chunks : npzChunks({ [name]: written });
}

/** Bytes of an array that is held whole. */
const mostInMemory = 1 << 30;

function tooLarge(byteLength: number): TensorjarError {
  return new TensorjarError(
    "limit-exceeded",
    `an array of ${byteLength} bytes is not held in memory here`,
    { expected: mostInMemory, actual: byteLength, hint: "take it as safetensors, made in pieces" },
  );
}

function widened(array: Tensor): NpyArray {
  return tensor(toFloat32(array), array.shape);
}

function onlyNumbers(dtype: string): TensorjarError {
  return new TensorjarError("unsupported", `safetensors has no dtype for ${dtype}`, {
    actual: dtype,
    hint: "take it as .npy or .npz",
  });
}

/** Gives a file to the user, who decides where it goes. */
export function offer(file: File): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
