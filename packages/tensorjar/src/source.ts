import {
  type ByteSource,
  type Bytes,
  bytesSource,
  httpSource,
  isTensorjarError,
  type SourceLike,
  TensorjarError,
} from "@tensorjar/core";
import {
  abortable,
  allocate,
  describe,
  errorWithoutSecrets,
  isByteSource,
  isBytesLike,
  quote,
  textWithoutSecrets,
  toBytes,
  toSource,
} from "@tensorjar/core/codec";
import { openText } from "#platform";

/**
 * What the facade reads from: besides a codec's sources a path or URL, a `Response`, a stream, an async iterable of bytes.
 * `http:` and `https:` strings are URLs; in a browser every string is, elsewhere the others are paths.
 */
export type FacadeSource =
  | SourceLike
  | string
  | URL
  | Response
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** What messages call the source: its path or URL where it has one. */
export function sourcePath(source: unknown): string | undefined {
  if (typeof source === "string") return source;
  return source instanceof URL ? source.href : undefined;
}

/** An error with the path or URL of its file, which of many may be the one at fault; as it is where it says that. */
export function withPath(error: unknown, source: FacadeSource): unknown {
  const text = sourcePath(source);
  if (text === undefined || !isTensorjarError(error)) return error;
  const { code, message, details, cause } = error;
  const path = textWithoutSecrets(text);
  const shown = quote(path);
  if (message.includes(shown)) return error;
  const found = details.hint === undefined ? message : message.slice(0, -details.hint.length - 2);
  return new TensorjarError(
    code,
    `${shown}: ${found}`,
    { path, ...details },
    cause === undefined ? undefined : { cause },
  );
}

/** Whether the byte source that `source` stands for is ours to close: one that is given itself is the caller's. */
export function isOurs(source: FacadeSource): boolean {
  return !isByteSource(source);
}

/** The byte source that `source` stands for. Streams and responses are read whole, since they cannot be read twice. */
export async function toFacadeSource(
  source: FacadeSource,
  signal?: AbortSignal,
): Promise<ByteSource> {
  signal?.throwIfAborted();
  if (isPromise(source)) return toFacadeSource(await abortable(source, signal), signal);
  if (source instanceof URL && source.protocol !== "file:") {
    return httpSource(source, signal === undefined ? {} : { signal }); // as text, `data:` and others would be paths
  }
  const path = sourcePath(source);
  if (path !== undefined) return openText(path, signal);
  const chunks = isResponse(source) ? await bodyOf(source) : streamOf(source);
  if (isStream(chunks)) return bytesSource(await collect(streamChunks(chunks), signal));
  if (isAsyncIterable(chunks)) return bytesSource(await collect(chunks, signal));
  return toSource(source as SourceLike); // strings, URLs, responses and streams were told apart above
}

/** A promise of a source: of any kind, since `load(fetch(url))` comes to everyone's mind. */
function isPromise(value: FacadeSource): value is Promise<ByteSource> {
  return typeof value === "object" && value !== null && "then" in value;
}

function isResponse(value: unknown): value is Response {
  return (
    typeof value === "object" &&
    value !== null &&
    "headers" in value &&
    "bodyUsed" in value &&
    "status" in value &&
    "body" in value
  );
}

/** What `Bun.stdin` and its like give: a Blob that does not know its size can be read only to its end. */
function streamOf(source: FacadeSource): FacadeSource {
  const { stream, size }: Partial<Blob> = Object(source);
  return typeof stream === "function" && !Number.isSafeInteger(size) ? stream.call(source) : source;
}

function isStream(value: unknown): value is ReadableStream<Uint8Array> {
  return (
    typeof value === "object" &&
    value !== null &&
    "getReader" in value &&
    typeof value.getReader === "function"
  );
}

function isAsyncIterable(value: unknown): value is AsyncIterable<Uint8Array> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** The body of a response, also of fetch functions whose bodies are other streams. Throws `not-found` and `http`. */
async function bodyOf(
  response: Response,
): Promise<ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>> {
  if (!response.ok) {
    await response.body?.cancel?.();
    const gone = response.status === 404 || response.status === 410;
    throw new TensorjarError(
      gone ? "not-found" : "http",
      `the server answered ${response.status} ${response.statusText}${response.url === "" ? "" : ` for ${quote(textWithoutSecrets(response.url))}`}`,
      { status: response.status },
    );
  }
  if (response.bodyUsed || response.body === null) {
    throw new TensorjarError(
      "invalid-argument",
      "the body of the Response was already read, or it has none",
      {
        hint: "give the Response before reading it, or its bytes",
      },
    );
  }
  return response.body;
}

/** No generator: that could not be ended while it waits for a read. */
function streamChunks(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  if (stream.locked) {
    throw new TensorjarError("invalid-argument", "the stream is locked by another reader");
  }
  const reader = stream.getReader();
  const chunks: AsyncIterator<Uint8Array> = {
    async next() {
      const { done, value } = await reader.read();
      if (!done) return { value };
      reader.releaseLock();
      return { done, value };
    },
    async return() {
      reader.cancel().catch(() => {}); // the reader's own failure is already on its way
      reader.releaseLock();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => chunks };
}

/** All bytes of a stream; memory grows with what arrived, not with what was announced. */
async function collect(chunks: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<Bytes> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  let iterator: AsyncIterator<Uint8Array> | undefined;
  try {
    iterator = chunks[Symbol.asyncIterator]();
    for (;;) {
      const next = await abortable(iterator.next(), signal);
      if (next.done) break;
      const chunk: unknown = next.value;
      if (!isBytesLike(chunk)) {
        throw new TensorjarError("invalid-argument", `a stream of bytes gave ${describe(chunk)}`, {
          hint: "streams must give Uint8Arrays: set no encoding",
        });
      }
      const piece = toBytes(chunk);
      pieces.push(piece);
      length += piece.length;
    }
  } catch (cause) {
    Promise.resolve(iterator?.return?.()).catch(() => {}); // what went wrong first is what counts
    signal?.throwIfAborted();
    if (isTensorjarError(cause)) throw cause;
    throw new TensorjarError(
      "io",
      `the stream failed after ${length} bytes: ${textWithoutSecrets(cause instanceof Error ? cause.message : String(cause))}`,
      { offset: length },
      { cause: errorWithoutSecrets(cause) },
    );
  }
  const whole = allocate(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
