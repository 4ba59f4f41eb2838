import type { Bytes, Chunks, SinkLike, TensorjarError } from "@tensorjar/core";
import {
  allocate,
  checkTensor,
  describe,
  isBytesLike,
  shapeText,
  tensorBytes,
  toBytes,
  writeChunks,
} from "@tensorjar/core/codec";
import { tensorFault } from "./layout.js";
import {
  type CheckedEntry,
  isProducer,
  planWrite,
  type SafetensorsWriteOptions,
  type TensorEntries,
  type TensorProducer,
  type WritePlan,
} from "./write-plan.js";

/** Small tensors are gathered into chunks of at most this size. */
const gatheredChunk = 1 << 20;
/** Data from this size on goes out as views on it, of at most `largestChunk`. */
const viewedChunk = 256 << 10;
/** The same where chunks are used again: a copy in the cache costs less than a write by itself. */
const viewedFrom = 1 << 20;
const largestChunk = 8 << 20;

/**
 * A safetensors file as chunks to pull, in bounded memory: the header, then the data. Chunks of large tensors are
 * views on their memory, which must not change until they are consumed. Everything but what producers give is
 * checked here, before the first byte. Throws as {@link encodeSafetensors} does; a producer whose data is not what
 * it announced makes the iteration throw `invalid-argument`, `invalid-dtype` or `invalid-shape`, and so does a tensor
 * whose data has another size by then.
 */
export function safetensorsChunks(
  entries: TensorEntries,
  options?: SafetensorsWriteOptions,
): Chunks {
  return planChunks(planWrite(entries, options));
}

/**
 * Writes a safetensors file to `sink` and closes it. What is refused before the first byte leaves the sink alone; on
 * any later failure it is aborted.
 * Rejects as {@link safetensorsChunks} throws, and with what the sink throws.
 */
export async function writeSafetensors(
  sink: SinkLike,
  entries: TensorEntries,
  options?: SafetensorsWriteOptions,
): Promise<void> {
  await writeChunks(sink, safetensorsChunks(entries, options));
}

/** The chunks of a plan. */
export function planChunks(plan: WritePlan): Chunks {
  const chunksFor = (transient: boolean): AsyncIterable<Bytes> => ({
    [Symbol.asyncIterator]: () => generate(plan, transient),
  });
  // Not enumerable: `{ ...all, chunks }` with other chunks must not bring these along.
  return Object.defineProperty(
    { byteLength: plan.byteLength, chunks: chunksFor(false) },
    "transient",
    { value: chunksFor(true) },
  );
}

async function* generate(
  { header, tensors, byteLength }: WritePlan,
  transient: boolean,
): AsyncGenerator<Bytes> {
  yield header.slice(); // whoever iterates again gets the same
  const most = transient ? viewedChunk : gatheredChunk; // the cache holds what is filled again and again
  let left = byteLength - header.length;
  let gathered = allocate(0);
  let filled = 0;
  function* chunksOf(data: Uint8Array): Generator<Bytes> {
    const large = data.length >= (transient ? viewedFrom : viewedChunk) && isPlain(data);
    for (let at = 0; at < data.length; ) {
      if (filled > 0 && (large || filled === gathered.length)) {
        yield gathered.subarray(0, filled);
        if (!transient) gathered = allocate(0); // what was given away is not written to again
        filled = 0;
        continue; // if anything is left: memory that was transferred meanwhile has no bytes
      }
      if (gathered.length === 0 && !large) gathered = allocate(Math.min(most, left));
      const room = large ? largestChunk : gathered.length - filled;
      const piece = data.subarray(at, at + room);
      at += piece.length;
      left -= piece.length;
      if (large)
        yield piece as Bytes; // plain memory, as isPlain found
      else {
        gathered.set(piece, filled);
        filled += piece.length;
      }
    }
  }
  for (const tensor of tensors) {
    const before = left;
    if (!isProducer(tensor.source)) {
      const data = tensorBytes(tensor.source);
      checkSize(tensor, data.length);
      if (data.length > gathered.length - filled) yield* chunksOf(data);
      else if (data.length > 0) {
        // Without a generator for each: there may be very many.
        gathered.set(data, filled);
        filled += data.length;
        left -= data.length;
      }
    } else for await (const data of produced(tensor, tensor.source)) yield* chunksOf(data);
    checkSize(tensor, before - left); // memory that is transferred meanwhile has no bytes any more
  }
  if (filled > 0) yield gathered.subarray(0, filled);
}

/** Throws when a tensor has another number of bytes than the header says. */
function checkSize({ name, bytes: expected }: CheckedEntry, actual: number): void {
  if (actual !== expected)
    throw tensorFault("invalid-argument", name, "has changed its size", { expected, actual });
}

/** Whether memory is not shared and keeps its size, so that a view on it is `Bytes`: streams and `Blob` take no other. */
function isPlain({ buffer }: Uint8Array): boolean {
  return Object(buffer).resizable === false; // shared memory has no such property, nor has any in an old engine
}

/** What a producer gives, as long as it is what was announced. */
async function* produced(
  tensor: CheckedEntry,
  producer: TensorProducer,
): AsyncGenerator<Uint8Array> {
  const { name, dtype, shape, bytes: expected } = tensor;
  const data = await producer.data();
  if (!isAsyncIterable(data)) {
    checkTensor(data, name);
    if (data.dtype !== dtype) {
      throw tensorFault(
        "invalid-dtype",
        name,
        `was announced as ${dtype}, but its producer gave ${data.dtype}`,
        {
          expected: dtype,
          actual: data.dtype,
        },
      );
    }
    if (data.shape.length !== shape.length || data.shape.some((dim, i) => dim !== shape[i])) {
      throw tensorFault(
        "invalid-shape",
        name,
        `was announced with shape ${shapeText(shape)}, but its producer gave ${shapeText(data.shape)}`,
        { expected: shape, actual: data.shape },
      );
    }
    yield tensorBytes(data);
    return;
  }
  let given = 0;
  for await (const piece of data) {
    if (!isBytesLike(piece)) throw wrongBytes(name, expected, describe(piece), piece);
    const bytes = toBytes(piece);
    given += bytes.length;
    if (given > expected) throw wrongBytes(name, expected, `${given} or more`, given);
    yield bytes;
  }
  if (given < expected) throw wrongBytes(name, expected, `${given}`, given);
}

function isAsyncIterable(data: object): data is AsyncIterable<Uint8Array> {
  return Symbol.asyncIterator in Object(data); // a producer may give anything
}

function wrongBytes(name: string, expected: number, text: string, actual: unknown): TensorjarError {
  return tensorFault(
    "invalid-argument",
    name,
    `takes ${expected} bytes, but its producer gave ${text}`,
    {
      expected,
      actual,
    },
  );
}
