import {
  type ByteSource,
  fileSource,
  httpSource,
  type NpyArray,
  open,
  openNpy,
  openNpz,
  type TensorFile,
} from "tensorjar";

/** The bytes behind a path or a URL, for functions that take no paths. */
export function sourceOf(path: string): Promise<ByteSource> {
  return /^https?:/i.test(path) ? httpSource(path) : fileSource(path);
}

/** Opens a file by its content, with every kind of array that `.npy` and `.npz` hold. */
export async function openArrays(path: string): Promise<TensorFile<NpyArray>> {
  const file = await open(path);
  const again = { npy: openNpy, npz: openNpz }[file.format];
  if (again === undefined) return file;
  await file.close();
  return again(sourceOf(path));
}
