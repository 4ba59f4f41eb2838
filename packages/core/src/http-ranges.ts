import { onAbort } from "./abort.js";
import { TensorjarError } from "./error.js";
import type { HttpClient } from "./http-client.js";
import { contentEncoding, contentRange, discard } from "./http-headers.js";

/** Requests under way at once. */
const maxRequests = 6;
/** Reads that wait at the same time become one request when no more than this lies between them. */
const maxGap = 32 << 10;
/** A request is not merged beyond this length. */
const maxMerged = 16 << 20;

/** A range that somebody waits for. */
interface Wanted {
  readonly start: number;
  readonly end: number;
  /** As long as the range. */
  readonly target: Uint8Array;
  /** Settled reads are passed over: whoever was told of an abort may use the target for something else. */
  settled: boolean;
  settle(failed?: { reason: unknown }): void;
  /** Called when settled while a request for it is under way. */
  left?: () => void;
}

/** Fills ranges of a file on a server, sharing requests among those that wait at the same time. */
export class HttpRanges {
  readonly #client: HttpClient;
  readonly #unsettled = new Set<Wanted>();
  #waiting: Wanted[] = [];
  #requests = 0;
  #scheduled = false;

  constructor(client: HttpClient) {
    this.#client = client;
  }

  /** Fills `target` with the bytes from `start`. A signal rejects at once, and what nobody waits for is not fetched. */
  fill(target: Uint8Array, start: number, signals: readonly AbortSignal[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const aborted = (): void => {
        wanted.settle({ reason: signals.find((signal) => signal.aborted)?.reason });
      };
      const wanted: Wanted = {
        start,
        end: start + target.length,
        target,
        settled: false,
        settle: (failed) => {
          if (wanted.settled) return;
          wanted.settled = true;
          this.#unsettled.delete(wanted);
          for (const stop of stops) stop();
          if (failed === undefined) resolve();
          else reject(failed.reason);
          wanted.left?.();
        },
      };
      const stops = signals.map((signal) => onAbort(signal, aborted));
      this.#unsettled.add(wanted);
      this.#waiting.push(wanted);
      void this.#schedule();
    });
  }

  /** Rejects whatever is not read yet. */
  stop(reason: unknown): void {
    for (const wanted of [...this.#unsettled]) wanted.settle({ reason });
  }

  /** Waits a few turns, so that reads which are started together are there together. */
  async #schedule(): Promise<void> {
    if (this.#scheduled) return;
    this.#scheduled = true;
    for (let turn = 0; turn < 10; turn++) await undefined;
    this.#scheduled = false;
    this.#start();
  }

  #start(): void {
    const waiting = this.#waiting.filter((wanted) => !wanted.settled);
    waiting.sort((a, b) => a.start - b.start);
    let at = 0;
    for (let first = waiting[at]; first !== undefined; first = waiting[at]) {
      if (this.#requests >= maxRequests) break;
      const group = [first];
      let { end } = first;
      for (let next = waiting[++at]; next !== undefined; next = waiting[++at]) {
        if (next.start > end + maxGap || Math.max(end, next.end) - first.start > maxMerged) break;
        end = Math.max(end, next.end);
        group.push(next);
      }
      void this.#fetch(group, first.start, end);
    }
    this.#waiting = waiting.slice(at);
  }

  async #fetch(group: readonly Wanted[], start: number, end: number): Promise<void> {
    const controller = new AbortController();
    let waiting = group.length;
    let reached = start;
    const left = (): void => {
      if (--waiting === 0 && reached < end) controller.abort();
    };
    for (const wanted of group) wanted.left = left;
    this.#requests++;
    let done = 0; // reads before this one have all their bytes
    try {
      await fetchRange(this.#client, start, end, controller.signal, (piece, at) => {
        reached = at + piece.length;
        for (let i = done; i < group.length; i++) {
          const wanted = group[i];
          if (wanted === undefined || wanted.start >= reached) break;
          if (wanted.settled) continue;
          const from = Math.max(at, wanted.start);
          const part = piece.subarray(from - at, Math.min(reached, wanted.end) - at);
          wanted.target.set(part, from - wanted.start);
          if (wanted.end <= reached) wanted.settle();
        }
        while (group[done]?.settled) done++;
      });
    } catch (reason) {
      for (const wanted of group) wanted.settle({ reason });
    } finally {
      this.#requests--;
      this.#start();
    }
  }
}

/** Fetches bytes `start` to `end` (exclusive), again from where it broke off. */
async function fetchRange(
  client: HttpClient,
  start: number,
  end: number,
  signal: AbortSignal,
  take: (piece: Uint8Array, at: number) => void,
): Promise<void> {
  let at = start;
  const attempt = async (): Promise<void> => {
    if (at === end) return; // it broke off after the last byte
    const response = await client.get(`bytes=${at}-${end - 1}`, signal);
    const told = checkPartial(client, response, at, end);
    for await (const piece of client.body(response, signal)) {
      if (at + piece.length > told) throw tooMuch(client, start, told);
      take(piece, at);
      at += piece.length;
    }
    if (at < end) throw tooLittle(client, start, end, at);
  };
  await client.retrying(attempt, signal, () => at);
}

/**
 * Throws unless `response` is a plain 206 for bytes `start` to at most `end` (exclusive); returns where the range that
 * it tells ends, `end` when it tells none.
 */
export function checkPartial(
  client: HttpClient,
  response: Response,
  start: number,
  end: number,
): number {
  const { status } = response;
  const asked = `bytes ${start} to ${end} were asked for`;
  let wrong: string | undefined;
  const range = contentRange(response);
  const coding = contentEncoding(response);
  if (status === 416) wrong = `has no such range (status 416): ${asked}`;
  else if (status !== 206) wrong = `answered with status ${status}, not 206: ${asked}`;
  else if (coding !== undefined) {
    wrong = `answered a range with Content-Encoding ${coding}, which cannot be decoded: ${asked}`;
  } else if (/^multipart\/byteranges/i.test(response.headers.get("Content-Type") ?? "")) {
    wrong = `answered a range in parts (multipart): ${asked}`;
  } else if (range !== undefined && (range.start !== start || range.end > end)) {
    wrong = `answered with the range ${range.start} to ${range.end}, but ${asked}`;
  }
  if (wrong === undefined) return range?.end ?? end;
  discard(response);
  throw client.error(wrong, status);
}

export function tooMuch(client: HttpClient, start: number, end: number): TensorjarError {
  return client.error(`sent more than the range ${start} to ${end}`, 206);
}

export function tooLittle(
  client: HttpClient,
  start: number,
  end: number,
  at: number,
): TensorjarError {
  return new TensorjarError(
    "truncated",
    `${client.shown} sent ${at - start} of the ${end - start} bytes of the range ${start} to ${end}`,
    { path: client.shown, offset: at, expected: end - start, actual: at - start, status: 206 },
  );
}
