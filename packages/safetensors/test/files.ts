import type { ByteSource, Sink } from "@tensorjar/core";

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

/** A source over bytes that records what is read and can be made to wait. */
export class RecordingSource implements ByteSource {
  readonly reads: [offset: number, length: number][] = [];
  closed = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get size(): number {
    return this.#bytes.length;
  }

  async read(
    offset: number,
    length: number,
    { into }: { into?: Uint8Array } = {},
  ): Promise<Uint8Array> {
    this.reads.push([offset, length]);
    const bytes = this.#bytes.subarray(offset, offset + length);
    if (into === undefined) return bytes;
    into.set(bytes);
    return into;
  }

  async close(): Promise<void> {
    this.closed++;
  }
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
    this.bytes = joined(this.chunks);
  }

  abort(reason: unknown): void {
    this.aborted = reason;
    this.chunks.length = 0;
  }
}

export function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

/** Whether two views hold the same bytes; for data too large for toEqual. */
export function sameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  const [x, y] = [a, b].map(
    (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength),
  );
  return x !== undefined && x.length === y?.length && x.every((byte, i) => byte === y[i]);
}
