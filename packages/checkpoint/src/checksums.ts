import { TensorjarError } from "@tensorjar/core";
import { crc32, quote } from "@tensorjar/core/codec";
import { sortedNames } from "./order.js";

/** What a header says of a tensor. */
interface Described {
  readonly dtype: string;
  readonly shape: readonly number[];
}

const hex = (sum: number): string => sum.toString(16).padStart(8, "0");

/** The CRC-32 of everything in a checkpoint's header but the checksums themselves (`docs/checkpoints.md`). */
export function headSum(
  metadata: ReadonlyMap<string, string>,
  tensors: ReadonlyMap<string, Described>,
  names: readonly string[] = sortedNames(tensors.keys()),
): number {
  const pairs = sortedNames(metadata.keys())
    .filter((key) => key !== "crc32")
    .map((key) => [key, metadata.get(key)]);
  const infos = names.map((name) => {
    const info = tensors.get(name);
    return [name, info?.dtype, info?.shape];
  });
  return crc32(new TextEncoder().encode(JSON.stringify(pairs) + JSON.stringify(infos)));
}

/** The checksums as the metadata hold them: the head's, then each tensor's by name. */
export function sumsText(head: number, tensors: readonly number[]): string {
  return hex(head) + tensors.map(hex).join("");
}

/** Checksums that a file states, compared with what it holds. */
export interface StatedSums {
  /** Throws `checksum-mismatch`, naming the tensor. */
  check(name: string, sum: number): void;
}

/** Reads the checksums of a header and compares the head's. Throws `checksum-mismatch`. */
export function statedSums(
  metadata: ReadonlyMap<string, string>,
  tensors: ReadonlyMap<string, Described>,
): StatedSums {
  const text = metadata.get("crc32");
  const length = 8 * (tensors.size + 1);
  if (text === undefined || text.length !== length || !/^[0-9a-f]*$/.test(text)) {
    throw new TensorjarError(
      "checksum-mismatch",
      text === undefined
        ? "the checkpoint states no checksums (crc32 in its metadata)"
        : `the checkpoint's crc32 is not ${length} lower-case hex digits`,
      { name: "crc32", expected: length, actual: text?.length, hint: verifyHint },
    );
  }
  const names = sortedNames(tensors.keys());
  compare("the header of the checkpoint", text.slice(0, 8), headSum(metadata, tensors, names));
  const places = new Map(names.map((name, i) => [name, 8 * (i + 1)]));
  return {
    check(name, sum) {
      const at = places.get(name) ?? 0;
      compare(`tensor ${quote(name)}`, text.slice(at, at + 8), sum, name);
    },
  };
}

const verifyHint = "the file is damaged; `verify: false` reads it all the same";

function compare(what: string, stated: string, sum: number, name?: string): void {
  if (stated === hex(sum)) return;
  throw new TensorjarError(
    "checksum-mismatch",
    `${what} has the CRC-32 ${hex(sum)}, the file states ${stated}`,
    {
      ...(name === undefined ? {} : { name }),
      expected: stated,
      actual: hex(sum),
      hint: verifyHint,
    },
  );
}
