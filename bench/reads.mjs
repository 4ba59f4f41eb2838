// How many bytes are read for one tensor, one member and some rows, beyond those that they take.
import { join } from "node:path";
import { fileSource, openNpy } from "@tensorjar/npy/node";
import { openNpz } from "@tensorjar/npz";
import { openSafetensors } from "@tensorjar/safetensors";
import { npyFile, npzFile, safetensorsFile } from "./data.mjs";

async function counted(path) {
  const source = await fileSource(path);
  const count = { bytes: 0, size: source.size };
  count.source = {
    size: source.size,
    read(offset, length, options) {
      count.bytes += length;
      return source.read(offset, length, options);
    },
    close: () => source.close(),
  };
  return count;
}

/** Part of target 20 → bytes too many. */
export async function excessReads(folder) {
  const model = join(folder, "model.safetensors");
  await safetensorsFile(model, 64 << 20);
  const tensor = await counted(model);
  const tensors = await openSafetensors(tensor.source);
  await tensors.get("one");
  const payload = [...tensors.tensors.values()].reduce(
    (sum, { begin, end }) => sum + end - begin,
    0,
  );
  const header = tensor.size - payload;
  await tensors.close();

  const archive = join(folder, "arrays.npz");
  await npzFile(archive, 4, 1 << 18, "deflate");
  const member = await counted(archive);
  const arrays = await openNpz(member.source);
  await arrays.get("arr_1");
  const { name, compressedSize } = arrays.members[1];
  // A local header stands before a member's data; the end record, with a comment, lies within 65 KiB of the end.
  const records = 30 + name.length + 512 + Math.min(member.size, 65 << 10);
  await arrays.close();

  const table = join(folder, "array.npy");
  npyFile(table, [10_000, 64]);
  const rows = await counted(table);
  const array = await openNpy(rows.source);
  await array.rows(4000, 5000);
  const expected = array.header.dataOffset + 1000 * 64 * 4;
  await array.close();

  return {
    // A header is found by one read of 64 KiB, unless it is longer.
    "20 tensor": Math.max(0, tensor.bytes - Math.max(header, 64 << 10) - (1 << 20)),
    "20 member": Math.max(0, member.bytes - compressedSize - records),
    "20 rows": rows.bytes - expected,
  };
}
