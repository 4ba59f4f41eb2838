/** What the suites of several packages share; runs in Node and in browsers. */
import {
  type ByteSource,
  bytesSource,
  type DType,
  isTensorjarError,
  type TensorjarError,
} from "@tensorjar/core";
import { expect } from "vitest";
import type { ExpectedError } from "./cases.js";

/** Runs `fn`, sync or async, and expects a `TensorjarError` of the given code whose message matches every name. */
export async function expectError(
  fn: () => unknown,
  expected: ExpectedError = {},
): Promise<TensorjarError> {
  const error = await thrownBy(fn);
  if (!isTensorjarError(error)) throw new Error(`not a TensorjarError: ${error}`, { cause: error });
  const { code, names = [] } = expected;
  if (code !== undefined) expect([code].flat(), error.message).toContain(error.code);
  for (const name of names) expect(error.message).toMatch(new RegExp(name, "i"));
  expect(error.message.length).toBeGreaterThan(0);
  return error;
}

async function thrownBy(fn: () => unknown): Promise<unknown> {
  let value: unknown;
  try {
    value = await fn();
  } catch (error) {
    return error;
  }
  throw new Error(`expected an error, got ${describe(value)}`);
}

function describe(value: unknown): string {
  if (value instanceof Map) return `a Map of ${[...value.keys()].slice(0, 5).join(", ")}`;
  return typeof value === "object"
    ? `an object with ${Object.keys(value ?? {}).join(", ")}`
    : String(value);
}

/** An array as `cases/README.md` writes it down: content as hex, or length and SHA-256 when it is long. */
export interface ArrayRecord {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly hex?: string;
  readonly byteLength?: number;
  readonly sha256?: string;
}

/** Expects a numeric array to have exactly the dtype, shape and bytes of `record`. */
export async function expectRecord(
  actual: {
    readonly dtype: string;
    readonly shape: readonly number[];
    readonly data: ArrayBufferView;
  },
  record: ArrayRecord,
): Promise<void> {
  expect({ dtype: actual.dtype, shape: [...actual.shape] }).toEqual({
    dtype: record.dtype,
    shape: [...record.shape],
  });
  await expectBytes(bytesOf(actual.data), record);
}

/** Expects exactly the bytes that `hex`, or `byteLength` and `sha256`, stand for. */
export async function expectBytes(
  bytes: Uint8Array,
  expected: Pick<ArrayRecord, "hex" | "byteLength" | "sha256">,
): Promise<void> {
  if (expected.hex !== undefined) {
    expect(toHex(bytes)).toBe(expected.hex);
    return;
  }
  expect(bytes.byteLength).toBe(expected.byteLength);
  expect(await sha256(bytes)).toBe(expected.sha256);
}

/** The bytes that a typed array covers, as a view. */
export function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** Whether two arrays hold the same bytes; for those that are too large for `toEqual`, which explains itself. */
export function sameBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  const [x, y] = [bytesOf(a), bytesOf(b)];
  return x.length === y.length && x.every((byte, i) => byte === y[i]);
}

/** Memory that most streams and `Blob` refuse: shared, and able to change its size. */
export function unusualBuffers(length: number): ArrayBufferLike[] {
  const resizable: unknown = Reflect.construct(ArrayBuffer, [
    length,
    { maxByteLength: 2 * length },
  ]);
  if (!(resizable instanceof ArrayBuffer)) throw new Error("no ArrayBuffer was made");
  return [new SharedArrayBuffer(length), resizable];
}

/** Whether streams and `Blob` take bytes everywhere: neither of the {@link unusualBuffers}. */
export function isUsual({ buffer }: Uint8Array): boolean {
  return buffer instanceof ArrayBuffer && Reflect.get(buffer, "resizable") !== true;
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** All that comes, in its order. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

/** The bytes of all chunks; each is copied when it comes, as its memory may be used again. */
export async function gather(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const copies: Uint8Array[] = [];
  for await (const chunk of chunks) copies.push(chunk.slice());
  return concat(...copies);
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++)
    bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

export async function sha256(bytes: Uint8Array): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(bytes))));
}

export const everyDType: readonly DType[] = [
  "bool",
  "int8",
  "uint8",
  "int16",
  "uint16",
  "int32",
  "uint32",
  "int64",
  "uint64",
  "float16",
  "bfloat16",
  "float32",
  "float64",
  "complex64",
  "complex128",
  "float8_e4m3fn",
  "float8_e5m2",
  "float8_e8m0fnu",
  "float8_e4m3fnuz",
  "float8_e5m2fnuz",
  "float6_e2m3fn",
  "float6_e3m2fn",
  "float4_e2m1fn",
];

/** A source, or one over bytes, that keeps what is asked of it. */
export interface RecordingSource extends ByteSource {
  readonly reads: [offset: number, length: number][];
  /** How often it was closed. */
  closed: number;
}

export function recordingSource(given: Uint8Array | ByteSource): RecordingSource {
  const source = given instanceof Uint8Array ? bytesSource(given) : given;
  const reads: [number, number][] = [];
  return {
    reads,
    closed: 0,
    size: source.size,
    read(offset, length, options) {
      reads.push([offset, length]);
      return source.read(offset, length, options);
    },
    async close() {
      this.closed++;
      await source.close?.();
    },
  };
}

/** A seeded stream of pseudo-random numbers (splitmix32), so that a failure can be run again. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [0, limit). */
  below(limit: number): number;
  /** One of `items`. */
  pick<T>(items: readonly T[]): T;
  /** `length` random bytes. */
  bytes(length: number): Uint8Array<ArrayBuffer>;
}

export function random(seed: number): Random {
  let state = seed >>> 0;
  const next32 = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  const next = () => next32() / 2 ** 32;
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick<T>(items: readonly T[]): T {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
    bytes: (length) => Uint8Array.from({ length }, () => next32() & 255),
  };
}

/** Bytes that parsers tend to stumble over: extremes, signs, ASCII structure. */
const awkward = [
  0, 1, 0x7f, 0x80, 0xfe, 0xff, 0x22, 0x27, 0x28, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b, 0x7d,
];

/** A copy of `bytes` with one to four small changes: flipped bits, set, cut, repeated, inserted or swapped bytes. */
export function mutate(bytes: Uint8Array, rng: Random): Uint8Array<ArrayBuffer> {
  let out = Array.from(bytes);
  for (let changes = 1 + rng.below(4); changes > 0; changes--) {
    // Headers are at the front and directories at the back: most changes go there.
    const reach = rng.pick([Math.min(out.length, 16), Math.min(out.length, 256), out.length]);
    const at =
      rng.below(4) === 0
        ? Math.max(0, out.length - 1 - rng.below(reach + 1))
        : rng.below(reach + 1);
    const length = 1 + rng.below(rng.pick([2, 8, 64]));
    switch (rng.below(7)) {
      case 0:
        if (at < out.length) out[at] = (out[at] ?? 0) ^ (1 << rng.below(8));
        break;
      case 1:
        if (at < out.length) out[at] = rng.pick(awkward);
        break;
      case 2:
        if (at < out.length) out[at] = rng.below(256);
        break;
      case 3:
        out = out.slice(0, at);
        break;
      case 4:
        out.splice(at, length);
        break;
      case 5:
        out.splice(at, 0, ...out.slice(at, at + length));
        break;
      default:
        out.splice(at, 0, ...rng.bytes(length));
    }
  }
  return Uint8Array.from(out);
}
