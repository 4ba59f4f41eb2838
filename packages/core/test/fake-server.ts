/** A file server that is a `fetch` function: nothing leaves the process, and every fault can be put in. */

export interface FakeRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly range: string | undefined;
  /** Of the range asked for; `end` is exclusive and within the file. */
  readonly start: number;
  readonly end: number;
  readonly signal: AbortSignal | undefined;
}

export interface FakeServer {
  readonly fetch: typeof fetch;
  readonly requests: FakeRequest[];
  readonly ranges: () => (string | undefined)[];
}

export type Answer = (request: FakeRequest, count: number) => Response | Promise<Response>;

export function fakeServer(
  bytes: Uint8Array<ArrayBuffer>,
  answer: Answer = plain(bytes),
): FakeServer {
  const requests: FakeRequest[] = [];
  return {
    requests,
    ranges: () => requests.map(({ range }) => range),
    fetch: async (input, init = {}) => {
      const headers = new Headers(init.headers);
      const range = headers.get("Range") ?? undefined;
      const [, first = "0", last = ""] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
      const request: FakeRequest = {
        url: String(input),
        method: init.method ?? "GET",
        headers,
        range,
        start: Number(first),
        end: Math.min(last === "" ? bytes.length : Number(last) + 1, bytes.length),
        signal: init.signal ?? undefined,
      };
      requests.push(request);
      request.signal?.throwIfAborted();
      return answer(request, requests.length);
    },
  };
}

export interface AnswerOptions {
  readonly headers?: Record<string, string>;
  /** Headers left out, as when CORS hides them. */
  readonly hidden?: readonly string[];
}

/** Answers as a good server does. */
export function plain(bytes: Uint8Array<ArrayBuffer>, options: AnswerOptions = {}): Answer {
  return ({ range, start, end }) => {
    if (range !== undefined && start >= bytes.length) {
      return reply(416, null, { "Content-Range": `bytes */${bytes.length}` }, options);
    }
    const body = bytes.slice(start, end);
    const head = {
      ETag: '"1"',
      "Last-Modified": "Mon, 02 Jan 2023 00:00:00 GMT",
      "Content-Length": String(body.length),
    };
    if (range === undefined) return reply(200, body, head, options);
    const partial = { ...head, "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}` };
    return reply(206, body, partial, options);
  };
}

export function reply(
  status: number,
  body: BodyInit | null,
  headers: Record<string, string> = {},
  { headers: more = {}, hidden = [] }: AnswerOptions = {},
): Response {
  const all = new Headers({ ...headers, ...more });
  for (const name of hidden) all.delete(name);
  return new Response(body, { status, headers: all });
}

/** A body that gives `bytes` and then breaks. */
export function broken(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let given = false;
  return new ReadableStream({
    pull(controller) {
      if (given) controller.error(new TypeError("terminated"));
      else controller.enqueue(bytes);
      given = true;
    },
  });
}
