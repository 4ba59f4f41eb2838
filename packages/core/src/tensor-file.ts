import type { AnyArray, Tensor } from "./tensor.js";

/** What moved so far: bytes, of the total where it is known, and the tensor or file at hand. */
export interface Progress {
  readonly loaded: number;
  readonly total: number;
  readonly name: string;
}

export interface ReadOptions {
  /** Rejects with `signal.reason`; nothing new is started afterwards. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Reads under way at once (default 6). */
  concurrency?: number;
}

export interface TensorInfo {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Bytes of the data, decompressed. */
  readonly byteLength: number;
}

/** An array of any kind that a container holds, numeric or not. */
export type AnyTensor = NonNullable<AnyArray>;

/** An open file of named tensors, whatever its format. Nothing is read but what is asked for. */
export interface TensorFile<A extends AnyTensor = Tensor> {
  readonly format: string;
  /** In the order of the data. */
  readonly names: readonly string[];
  readonly metadata: ReadonlyMap<string, string>;
  /** Rejects with `not-found`. */
  info(name: string): Promise<TensorInfo>;
  /** One tensor, in memory of its own. Rejects with `not-found`. */
  get(name: string, options?: { signal?: AbortSignal }): Promise<A>;
  /** Tensors in the order of the data, read ahead within bounds; all of them without `names`. */
  entries(names?: Iterable<string>, options?: ReadOptions): AsyncIterable<[string, A]>;
  /** The data of one tensor in pieces: C order, little-endian, bounded memory. */
  chunks(name: string, options?: { signal?: AbortSignal }): AsyncIterable<Uint8Array>;
  /** Closes the source too. */
  close(): Promise<void>;
}

/** Bytes to write, pulled one chunk at a time; each at most 64 MiB. */
export interface Chunks {
  readonly byteLength: number;
  readonly chunks: AsyncIterable<import("./tensor.js").Bytes>;
  /** The same bytes in chunks that hold only until the next is asked for, for a sink that is `transient`. */
  readonly transient?: AsyncIterable<import("./tensor.js").Bytes>;
}
