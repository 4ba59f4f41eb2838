import { abortable } from "./abort.js";
import { TensorjarError } from "./error.js";
import { HttpClient, type HttpClientOptions } from "./http-client.js";
import { contentEncoding, contentLength, discard, totalSize } from "./http-headers.js";
import { checkPartial, HttpRanges, tooLittle, tooMuch } from "./http-ranges.js";
import { type ByteSource, checkRange } from "./source.js";
import { allocate } from "./tensor.js";

export interface HttpSourceOptions extends HttpClientOptions {
  /** Ends opening and every read, also those to come. */
  signal?: AbortSignal;
  /** The file's size in bytes, for a server that does not tell it. */
  size?: number;
  /** The largest file taken whole from a server that knows no ranges, in bytes (default 256 MiB). */
  maxBody?: number;
}

/** The start of the file is asked for at once and kept: most headers lie in it. */
const firstLength = 65_536;

/**
 * A source over a file on a web server, read by ranges. One request opens it and its first 64 KiB are kept; reads that
 * wait at the same time and lie close together share a request; a connection that breaks is resumed.
 * A server that ignores ranges is read whole, once, up to `maxBody` bytes (`limit-exceeded`).
 * Rejects with `not-found` (status 404, 410), `http` (other statuses, wrong ranges, no connection), `truncated`,
 * `source-changed` when ETag, Last-Modified or the size change, `invalid-argument`, and with `signal.reason`.
 */
export async function httpSource(
  url: string | URL,
  options: HttpSourceOptions = {},
): Promise<ByteSource> {
  const { signal, size = 0, maxBody = 0 } = options;
  signal?.throwIfAborted();
  if (!Number.isSafeInteger(size) || size < 0 || !(maxBody >= 0)) {
    throw new TensorjarError(
      "invalid-argument",
      `size (${size}) and maxBody (${maxBody}) are numbers of bytes`,
    );
  }
  const client = new HttpClient(url, options);
  return abortable(
    client.retrying(() => open(client, options), signal),
    signal,
  );
}

async function open(client: HttpClient, options: HttpSourceOptions): Promise<ByteSource> {
  const { signal, maxBody = 268_435_456 } = options;
  const response = await client.get(`bytes=0-${firstLength - 1}`, signal);
  if (response.status === 416) {
    discard(response);
    if (await isEmpty(client, response, signal))
      return rangesSource(client, allocate(0), 0, signal);
  }
  if (response.status === 200) {
    const body = await wholeBody(client, response, maxBody, signal);
    return rangesSource(client, body, body.length, signal);
  }
  const told = checkPartial(client, response, 0, firstLength);
  const first = await upTo(client, response, told, signal);
  if (first === undefined) throw tooMuch(client, 0, told);
  const size = totalSize(response) ?? (await sizeByLength(client, signal)) ?? options.size;
  if (size === undefined) {
    throw client.error("does not tell how long the file is", 206, {
      hint: "give its length in bytes: httpSource(url, { size })",
    });
  }
  if (!Number.isSafeInteger(size)) {
    throw client.error(`tells a size of ${size} bytes, which is past 2^53-1`, 206);
  }
  const expected = Math.min(size, firstLength);
  if (first.length < expected) throw tooLittle(client, 0, expected, first.length);
  if (first.length > expected) throw tooMuch(client, 0, expected);
  return rangesSource(client, first, size, signal);
}

/** Whether a server that has no byte 0 has the file at all; a page of another origin must ask once more. */
async function isEmpty(
  client: HttpClient,
  response: Response,
  signal?: AbortSignal,
): Promise<boolean> {
  const total = totalSize(response);
  if (total !== undefined) return total === 0;
  const plain = await client.get(undefined, signal);
  return plain.status === 200 && (await upTo(client, plain, 0, signal)) !== undefined;
}

/** The size by the length of a request for everything, which is given up once its head is there. */
async function sizeByLength(client: HttpClient, signal?: AbortSignal): Promise<number | undefined> {
  const response = await client.get("bytes=0-", signal);
  discard(response);
  if (response.status === 416 || contentEncoding(response) !== undefined) return undefined;
  return contentLength(response);
}

/** The body of a status 200, which is the whole file. */
async function wholeBody(
  client: HttpClient,
  response: Response,
  maxBody: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const length = contentLength(response);
  const tooLarge = (bytes: string): TensorjarError =>
    client.error(`ignores ranges: status 200 instead of 206, with a body of ${bytes} bytes`, 200, {
      code: "limit-exceeded",
      hint: `raise maxBody (${maxBody}) to take the whole file, or download it`,
    });
  if (length !== undefined && length > maxBody) {
    discard(response);
    throw tooLarge(String(length));
  }
  const body = await upTo(client, response, maxBody, signal);
  if (body === undefined) throw tooLarge(`more than ${maxBody}`);
  const coding = contentEncoding(response);
  if (coding !== undefined && body.length === length) {
    // Deno decodes nothing when it is asked for no coding. Equal by chance: refused as well, to be safe.
    throw client.error(`sent Content-Encoding ${coding}, which was not decoded`, 200);
  }
  // The length is that of the coded body, and a page of another origin is not told of a coding.
  const plain = coding === undefined && response.type !== "cors";
  if (plain && length !== undefined && body.length < length) {
    throw new TensorjarError(
      "truncated",
      `${client.shown} sent ${body.length} of ${length} bytes`,
      {
        path: client.shown,
        offset: body.length,
        expected: length,
        actual: body.length,
        status: 200,
      },
    );
  }
  return body;
}

/** The body, or `undefined` when it is longer than `limit`. */
async function upTo(
  client: HttpClient,
  response: Response,
  limit: number,
  signal?: AbortSignal,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of client.body(response, signal)) {
    length += piece.length;
    if (length > limit) return undefined;
    pieces.push(piece);
  }
  const bytes = allocate(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** A source whose first bytes are here already, perhaps all. */
function rangesSource(
  client: HttpClient,
  first: Uint8Array,
  size: number,
  sourceSignal?: AbortSignal,
): ByteSource {
  client.opened = true;
  const ranges = new HttpRanges(client);
  let closed: TensorjarError | undefined;
  return {
    size,
    async read(offset, length, { into, signal } = {}) {
      sourceSignal?.throwIfAborted();
      signal?.throwIfAborted();
      checkRange(size, offset, length, into);
      if (closed !== undefined) throw closed;
      const kept = first.subarray(offset, offset + length);
      if (into === undefined && kept.length === length) return kept;
      const target = into === undefined ? allocate(length) : into.subarray(0, length);
      target.set(kept);
      if (kept.length < length) {
        const signals = [sourceSignal, signal].filter((s) => s !== undefined);
        await ranges.fill(target.subarray(kept.length), offset + kept.length, signals);
      }
      return target;
    },
    async close() {
      closed ??= new TensorjarError("invalid-argument", `${client.shown} was closed`, {
        path: client.shown,
      });
      ranges.stop(closed);
    },
  };
}
