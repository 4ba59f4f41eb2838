import type { Sink } from "@tensorjar/core";
import { concat } from "../../../tooling/testing.js";

/** A file of the given header text, padded as it is, and data. */
export function fileOf(
  header: string | Uint8Array,
  data: Uint8Array | number = 0,
): Uint8Array<ArrayBuffer> {
  const text = typeof header === "string" ? new TextEncoder().encode(header) : header;
  const tail =
    typeof data === "number" ? Uint8Array.from({ length: data }, (_, i) => i & 255) : data;
  const file = new Uint8Array(8 + text.length + tail.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  file.set(tail, 8 + text.length);
  return file;
}

/** The text of one tensor entry. */
export function entry(
  name: string,
  dtype: string,
  shape: readonly number[],
  begin: number,
  end: number,
): string {
  return `${JSON.stringify(name)}:{"dtype":"${dtype}","shape":[${shape}],"data_offsets":[${begin},${end}]}`;
}

/** A sink that keeps what is committed, and nothing else. */
export class MemorySink implements Sink {
  bytes: Uint8Array<ArrayBuffer> | undefined;
  aborted: unknown;
  readonly chunks: Uint8Array<ArrayBuffer>[] = [];

  write(chunk: Uint8Array): void {
    this.chunks.push(Uint8Array.from(chunk));
  }

  close(): void {
    this.bytes = concat(...this.chunks);
  }

  abort(reason: unknown): void {
    this.aborted = reason;
    this.chunks.length = 0;
  }
}
