import { abortable } from "./abort.js";
import { describe, quote, TensorjarError } from "./error.js";
import { discard, retryAfter, totalSize } from "./http-headers.js";
import { errorWithoutSecrets, resolveUrl, textWithoutSecrets, withoutSecrets } from "./http-url.js";

export interface HttpClientOptions {
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch;
  /** Sent with every request. */
  headers?: NonNullable<RequestInit["headers"]>; // `HeadersInit` is no global type of @types/node
}

/** Waits before the next attempts, in milliseconds: fewer for a file that could not be opened yet. */
const firstWaits = [100, 300];
const laterWaits = [100, 300, 900, 2_700];
/** The longest `Retry-After` that is waited for, in milliseconds. */
const maxRetryAfter = 30_000;
/** After this many more bytes, a connection that breaks again counts as breaking for the first time. */
const fairProgress = 1 << 20;

/**
 * Pages pass their cache by: measured, Chromium turns three cached ranges into four requests of its own making,
 * and one at a time. Elsewhere there is none, or the option is refused.
 */
const init: RequestInit = globalThis.location === undefined ? {} : { cache: "no-store" };

/** A failure that may pass: the same request is sent again, after a while. */
class Transient {
  readonly error: TensorjarError;
  readonly wait: number | undefined;
  constructor(error: TensorjarError, wait?: number) {
    this.error = error;
    this.wait = wait;
  }
}

/** Requests for ranges of one URL: retried, and checked to be about the same file each time. */
export class HttpClient {
  /** The URL without what may be secret in it, for messages. */
  readonly shown: string;
  /** Whether the file was opened: from then on there is more patience. */
  opened = false;
  readonly #url: string;
  readonly #headers: Headers;
  readonly #fetch: typeof fetch;
  readonly #seen = new Map<string, string>();

  constructor(url: string | URL, options: HttpClientOptions) {
    this.#url = resolveUrl(url);
    this.shown = withoutSecrets(this.#url);
    this.#fetch = options.fetch ?? fetch;
    if (typeof this.#fetch !== "function") {
      throw new TensorjarError("invalid-argument", `fetch is ${describe(this.#fetch)}`, {
        name: "fetch",
        hint: "give a function like the global fetch",
      });
    }
    try {
      this.#headers = new Headers(options.headers);
    } catch {
      // Without the cause, which quotes the values: they may be secret.
      throw new TensorjarError("invalid-argument", `the headers for ${this.shown} cannot be sent`, {
        name: "headers",
        hint: "names are words, values hold Latin-1 and no line breaks",
      });
    }
    // A coded range cannot be decoded. Browsers send this by themselves.
    this.#headers.set("Accept-Encoding", "identity");
  }

  /** An error about this URL. */
  error(
    message: string,
    status: number,
    more: { hint?: string; code?: "http" | "limit-exceeded" } = {},
  ): TensorjarError {
    const { hint, code = "http" } = more;
    return new TensorjarError(code, `${this.shown} ${message}`, {
      path: this.shown,
      status,
      ...(hint !== undefined && { hint }),
    });
  }

  /** Runs `attempt` until it succeeds or has failed too often; `position` shows that bytes moved in between. */
  async retrying<T>(
    attempt: () => Promise<T>,
    signal?: AbortSignal,
    position: () => number = () => 0,
  ): Promise<T> {
    let failures = 0;
    let before = position();
    for (;;) {
      try {
        return await attempt();
      } catch (failure) {
        signal?.throwIfAborted();
        if (!(failure instanceof Transient)) throw failure;
        if (position() - before >= fairProgress) failures = 0;
        before = position();
        const wait = (this.opened ? laterWaits : firstWaits)[failures++];
        if (wait === undefined || (failure.wait ?? 0) > maxRetryAfter) throw failure.error;
        await sleep(failure.wait ?? wait, signal);
      }
    }
  }

  /** Sends one request; the answer's status is 200, 206 or 416. To be called within `retrying`. */
  async get(range: string | undefined, signal?: AbortSignal): Promise<Response> {
    const headers = new Headers(this.#headers);
    if (range !== undefined) headers.set("Range", range);
    const send = this.#fetch; // called without a receiver, as the global one must be
    let response: Response;
    try {
      const sent = send(this.#url, { ...init, headers, ...(signal && { signal }) });
      response = await abortable(sent, signal); // at once, also with a fetch that knows no signals
    } catch (cause) {
      throw this.#broken(cause, "could not be reached");
    }
    const { status } = response;
    if (status === 503 || status === 429) {
      discard(response);
      throw new Transient(this.#refused(status), retryAfter(response.headers.get("Retry-After")));
    }
    if (status !== 200 && status !== 206 && status !== 416) {
      discard(response);
      throw this.#refused(status);
    }
    try {
      this.#compare("size", totalSize(response));
      if (status !== 416) {
        this.#compare("ETag", response.headers.get("ETag")?.replace(/^W\//, ""));
        this.#compare("Last-Modified", response.headers.get("Last-Modified"));
      }
    } catch (changed) {
      discard(response);
      throw changed;
    }
    return response;
  }

  /** What a header told once it must tell again; what is hidden from us proves nothing. */
  #compare(what: string, value: string | number | null | undefined): void {
    if (value === undefined || value === null) return;
    const actual = String(value);
    const expected = this.#seen.get(what) ?? actual;
    this.#seen.set(what, expected);
    if (actual === expected) return;
    throw new TensorjarError(
      "source-changed",
      `${this.shown} changed while it was read: its ${what} was ${quote(expected)} and is ${quote(actual)}`,
      { path: this.shown, expected, actual, hint: "open it again" },
    );
  }

  /** The body in pieces; a connection that breaks is a failure that may pass. */
  async *body(
    response: Response,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = response.body?.getReader?.();
    if (reader === undefined) {
      // An environment without streams, a fetch with streams of its own, or an empty body.
      const buffer = await response.arrayBuffer().catch((cause: unknown) => {
        throw this.#broken(cause, "broke off");
      });
      yield new Uint8Array(buffer);
      return;
    }
    let ended = false;
    try {
      for (;;) {
        const { done, value } = await abortable(reader.read(), signal).catch((cause: unknown) => {
          throw this.#broken(cause, "broke off");
        });
        if (done) break;
        yield value;
      }
      ended = true;
    } finally {
      if (!ended) reader.cancel().catch(() => {});
    }
  }

  #broken(cause: unknown, what: string): Transient {
    const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
    const errno =
      inner instanceof Error && "code" in inner && typeof inner.code === "string" ? inner.code : "";
    const why = textWithoutSecrets(cause instanceof Error ? cause.message : String(cause));
    return new Transient(
      new TensorjarError(
        "http",
        `${this.shown} ${what} (${why}${errno && `, ${errno}`})`,
        {
          path: this.shown,
          ...(errno && { errno }),
          hint: "check the address and the network; in a browser the server must allow this page's origin (CORS) and send ranges without Content-Encoding",
        },
        { cause: errorWithoutSecrets(cause) },
      ),
    );
  }

  #refused(status: number): TensorjarError {
    if (status === 404 || status === 410) {
      return new TensorjarError("not-found", `${this.shown} is not there (status ${status})`, {
        path: this.shown,
        status,
      });
    }
    return this.error(
      `answered with status ${status}`,
      status,
      status === 401 || status === 403
        ? { hint: "if it needs a login, give it in headers, such as { Authorization: ... }" }
        : {},
    );
  }
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  return abortable(slept, signal).finally(() => clearTimeout(timer));
}
