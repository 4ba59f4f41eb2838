import { type ByteSource, httpSource } from "@tensorjar/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startCaseServer } from "../../../tooling/case-server.js";
import { type Case, loadCases } from "../../../tooling/cases.js";
import { expectError, sameBytes } from "../../../tooling/testing.js";
import { turns } from "./deferred.js";
import { broken, type FakeServer, fakeServer, plain, reply } from "./fake-server.js";
import { pattern } from "./pattern.js";

const url = "https://host.example/model.bin";
const bytes = pattern(200_000);

afterEach(() => void vi.useRealTimers());

function open(
  server: FakeServer,
  options: Parameters<typeof httpSource>[1] = {},
): Promise<ByteSource> {
  return httpSource(url, { ...options, fetch: server.fetch });
}

interface HttpCase extends Case {
  readonly mode: string;
  readonly or?: readonly Pick<Case, "expect" | "error">[];
}

describe("faulty servers", async () => {
  const { cases } = await loadCases<HttpCase>("http");
  const file = bytes.slice(0, 70_000);
  const codes: Record<string, string> = {
    short: "truncated",
    wrongstart: "http",
    changed: "source-changed",
    notfound: "not-found",
    e416: "http",
    gzip206: "http",
  };
  // A page of another origin sees neither Content-Range, which tells the start (but a body that starts a byte late is
  // a byte short), nor ETag, which tells a change.
  const codesInPages = { ...codes, wrongstart: "truncated", changed: undefined };
  const inPage = typeof document !== "undefined";
  // Chromium refuses any coded answer to a range, Deno does not decode one.
  const decodes = !inPage && !("Deno" in globalThis);

  test.each(cases)("$id: $title", async ({ mode, error, or = [] }) => {
    const server = await startCaseServer(file);
    const read = async (): Promise<Uint8Array> => {
      const source = await httpSource(`${server.url}/${mode}`);
      return source.read(0, source.size);
    };
    const known = new Map(Object.entries(inPage ? codesInPages : codes));
    const code = mode === "gzip200" && !decodes ? "http" : known.get(mode);
    if (code !== undefined) {
      const names = (error ?? or.find((other) => other.error)?.error)?.names ?? [];
      await expectError(read, { code, names });
    } else if (mode === "changed") {
      expect((await read()).length).toBe(file.length);
    } else {
      expect(sameBytes(await read(), file)).toBe(true);
    }
    const requests = await server.requests();
    expect(requests.every(({ method }) => method === "GET")).toBe(true);
    const whole = requests.filter(({ range }) => !/^bytes=\d+-\d*$/.test(range ?? ""));
    // Where the size is hidden, a 416 may mean an empty file: that is asked once, without a range.
    expect(whole.length).toBe(inPage && mode === "e416" ? 1 : 0);
    expect(requests.length).toBeLessThanOrEqual(inPage && mode === "retry503" ? 4 : 3);
    await server.close();
  });

  const good = ["ok", "norange", "norangeheader", ...(decodes ? ["gzip200"] : [])];
  test.each(good)("%s with files about as long as the first request", async (mode) => {
    for (const length of [0, 1, 65_535, 65_536, 65_537]) {
      const server = await startCaseServer(bytes.slice(0, length));
      const source = await httpSource(`${server.url}/${mode}`);
      expect(source.size).toBe(length);
      const read = await source.read(0, length);
      expect(sameBytes(read, bytes.subarray(0, length))).toBe(true);
      await server.close();
    }
  });
});

describe("opening", () => {
  test("asks for the first 64 KiB and serves reads of them without another request", async () => {
    const server = fakeServer(bytes);
    const source = await open(server);
    expect(source.size).toBe(200_000);
    expect(sameBytes(await source.read(10, 65_526), bytes.subarray(10, 65_536))).toBe(true);
    const into = new Uint8Array(20).fill(7);
    expect(sameBytes(await source.read(0, 8, { into }), bytes.subarray(0, 8))).toBe(true);
    expect([...into.subarray(8)]).toEqual(Array(12).fill(7));
    expect(server.ranges()).toEqual(["bytes=0-65535"]);
  });

  test("sends the given headers, and none that a plain CORS host refuses", async () => {
    const server = fakeServer(bytes);
    const source = await open(server, {
      headers: { Authorization: "Bearer t", Range: "bytes=5-" },
    });
    await source.read(100_000, 10);
    for (const { headers, method } of server.requests) {
      expect(method).toBe("GET");
      expect(headers.get("Authorization")).toBe("Bearer t");
      expect(headers.get("If-Range")).toBeNull();
    }
    expect(server.ranges()).toEqual(["bytes=0-65535", "bytes=100000-100009"]);
  });

  test("learns a hidden size from the length of a request that it gives up", async () => {
    let cancelled = false;
    const hidden = ["Content-Range", "ETag", "Last-Modified"];
    const answer = plain(bytes, { hidden });
    const server = fakeServer(bytes, (request, count) => {
      if (request.range !== "bytes=0-") return answer(request, count);
      const endless = new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(1000)),
        cancel() {
          cancelled = true;
        },
      });
      return reply(206, endless, { "Content-Length": String(bytes.length) });
    });
    const source = await open(server);
    expect(source.size).toBe(bytes.length);
    expect(cancelled).toBe(true);
    expect(server.ranges()).toEqual(["bytes=0-65535", "bytes=0-"]);
  });

  test("takes the size from the caller when the server tells none", async () => {
    const hidden = ["Content-Range", "Content-Length"];
    const server = fakeServer(bytes, plain(bytes, { hidden }));
    const error = await expectError(() => open(server), { code: "http", names: ["size"] });
    expect(error.details.status).toBe(206);
    expect((await open(server, { size: 200_000 })).size).toBe(200_000);
    await expectError(() => open(server, { size: 1.5 }), { code: "invalid-argument" });
    await expectError(() => open(server, { size: 60_000 }), { code: "http" });
  });

  test("reads what a fetch with streams of its own answers", async () => {
    const good = plain(bytes);
    const other = fakeServer(bytes, async (request, count) => {
      const answer = await (count === 2
        ? reply(503, "busy", { "Retry-After": "0" })
        : good(request, count));
      return new Proxy(answer, {
        get(response, name) {
          if (name === "body") return { pipe: () => {} };
          const value: unknown = Reflect.get(response, name);
          return typeof value === "function" ? value.bind(response) : value;
        },
      });
    });
    const source = await open(other);
    expect(await source.read(100_000, 10)).toEqual(bytes.slice(100_000, 100_010));
    expect(other.requests.length).toBe(3);
  });

  test("uses a whole body once, under the limit", async () => {
    const server = fakeServer(bytes, () => reply(200, bytes, { "Content-Length": "200000" }));
    const source = await open(server, { maxBody: 200_000 });
    expect(source.size).toBe(200_000);
    expect(sameBytes(await source.read(1000, 150_000), bytes.subarray(1000, 151_000))).toBe(true);
    expect(server.requests.length).toBe(1);
  });

  test("refuses a whole body over the limit before it is sent, or as soon as it shows", async () => {
    for (const headers of [{ "Content-Length": "200000" }, undefined]) {
      let pulled = 0;
      const body = (): ReadableStream =>
        new ReadableStream(
          {
            pull(controller) {
              pulled += 1000;
              controller.enqueue(new Uint8Array(1000));
            },
          },
          { highWaterMark: 0 },
        );
      const server = fakeServer(bytes, () => reply(200, body(), headers));
      const error = await expectError(() => open(server, { maxBody: 9_999 }), {
        code: "limit-exceeded",
        names: ["status 200", "range", "maxBody"],
      });
      expect(error.details.status).toBe(200);
      expect(pulled).toBe(headers === undefined ? 10_000 : 0);
      expect(server.requests.length).toBe(1);
    }
  });

  test("checks a whole body against its length, but not against the length of a coded one", async () => {
    const whole = (headers: Record<string, string>): Promise<ByteSource> =>
      open(fakeServer(bytes, () => reply(200, bytes, headers)));
    await expectError(() => whole({ "Content-Length": "200001" }), { code: "truncated" });
    const coded = await whole({ "Content-Length": "777", "Content-Encoding": "br" });
    expect(coded.size).toBe(200_000);
    await expectError(() => whole({ "Content-Length": "200000", "Content-Encoding": "br" }), {
      code: "http",
      names: ["Content-Encoding br"],
    });
  });

  test("knows an empty file by its 416, also where Content-Range is hidden", async () => {
    const empty = new Uint8Array(0);
    for (const hidden of [[], ["Content-Range"]]) {
      const source = await open(fakeServer(empty, plain(empty, { hidden })));
      expect(source.size).toBe(0);
      expect(await source.read(0, 0)).toEqual(empty);
      await expectError(() => source.read(0, 1), { code: "truncated" });
    }
  });

  test("tells a file that is not there from other refusals, with the status and the URL", async () => {
    for (const [status, code] of [
      [404, "not-found"],
      [410, "not-found"],
      [403, "http"],
      [401, "http"],
      [500, "http"],
      [304, "http"],
    ] as const) {
      const server = fakeServer(bytes, () => reply(status, null));
      const error = await expectError(() => open(server), { code, names: [`${status}`] });
      expect(error.details).toMatchObject({ status, path: url });
      expect(error.message).toContain(url);
      expect(server.requests.length).toBe(1);
    }
  });

  test("keeps passwords and signatures out of messages", async () => {
    const server = fakeServer(bytes, () => reply(403, null));
    const secret = "https://user:word@host.example/a.bin?X-Amz-Signature=abc#frag";
    const error = await expectError(() => httpSource(secret, { fetch: server.fetch }));
    expect(error.message).toContain("https://host.example/a.bin?...");
    expect(JSON.stringify([error.message, error.details])).not.toMatch(/word|abc|frag/);
    expect(server.requests[0]?.url).toBe(secret);
  });

  test("keeps them out of what fetch says too, in its properties and its causes", async () => {
    const secret = "https://user:word@host.example/it's.bin?X-Amz-Signature=abc#frag";
    const fail = (cause: unknown) => () => Promise.reject(cause);
    const named = (message: string, more: object = {}): Error =>
      Object.assign(new TypeError(`failed for ${secret}: ${message}`), more);
    const ring = new Error("a ring", { cause: named("inside") });
    Object.assign(Object(ring.cause), { cause: ring });
    for (const thrown of [
      named("it has credentials", { code: "ERR_NO", url: secret }),
      new TypeError("fetch failed", { cause: Object.assign(named("reset"), { code: "ERR_NO" }) }),
      Object.assign(new TypeError("no address"), { input: secret, code: "ERR_NO" }),
      `no connection to ${secret}`,
      ring,
    ]) {
      vi.useFakeTimers();
      const opening = expectError(() => httpSource(secret, { fetch: fail(thrown) }), {
        code: "http",
        names: ["host.example/it's.bin\\?\\.\\.\\."],
      });
      await vi.runAllTimersAsync();
      const error = await opening;
      const chain: unknown[] = [error.message, error.details];
      let cause: { cause?: unknown } = Object(error.cause);
      for (let depth = 0; depth < 20 && cause instanceof Error; depth++) {
        chain.push(cause.message, cause.stack, { ...cause });
        cause = Object(cause.cause);
      }
      expect(JSON.stringify([...chain, cause])).not.toMatch(/word|abc|frag/);
      if (thrown !== ring && typeof thrown !== "string") expect(error.details.errno).toBe("ERR_NO");
    }
    const plain = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    vi.useFakeTimers();
    const opening = expectError(() => httpSource(secret, { fetch: fail(plain) }), { code: "http" });
    await vi.runAllTimersAsync();
    expect((await opening).cause).toBe(plain);
  });

  test.runIf(typeof document === "object")(
    "resolves a URL in a page as fetch does, also against its <base>",
    async () => {
      const asked: unknown[] = [];
      const ask = async (path: string) => {
        const fetch = async (given: unknown) => {
          asked.push(given);
          return reply(404, null);
        };
        await expectError(() => httpSource(path, { fetch }), { code: "not-found" });
        expect(asked.pop()).toBe(new Request(path).url);
      };
      await ask("weights/a.npy?x=1");
      const base = document.createElement("base");
      base.href = "https://host.example/app/";
      document.head.append(base);
      try {
        for (const path of ["a.npy", "../a.npy", "/a.npy", "//other.example/a", "?x"])
          await ask(path);
      } finally {
        base.remove();
      }
    },
  );

  test("refuses what is no URL and headers that cannot be sent", async () => {
    const server = fakeServer(bytes);
    const { fetch } = server;
    // @ts-expect-error: not a URL
    await expectError(() => httpSource(7, { fetch }), { code: "invalid-argument" });
    await expectError(() => httpSource("http://[", { fetch }), { code: "invalid-argument" });
    // @ts-expect-error: not a function
    await expectError(() => httpSource(url, { fetch: 3 }), { code: "invalid-argument" });
    await expectError(() => httpSource("file:///a.npy", { fetch }), {
      code: "invalid-argument",
      names: ["fileSource"],
    });
    await expectError(() => open(server, { headers: { "bad name": "x" } }), {
      code: "invalid-argument",
    });
    for (const [secret, headers] of [
      ["https://user:secret@[/a?token=secret", {}],
      [url, { Authorization: "secret\nsecret" }],
    ] as const) {
      const error = await expectError(() => httpSource(secret, { fetch, headers }), {
        code: "invalid-argument",
      });
      expect(`${error.message} ${error.cause}`).not.toContain("secret");
    }
    expect(server.requests.length).toBe(0);
  });

  test.each([
    ["Content-Range", { "Content-Range": "bytes 0-65535/99999999999999999999" }],
    [
      "Content-Length",
      { "Content-Length": "99999999999999999999", "Content-Range": "bytes 0-65535/*" },
    ],
  ])("refuses a size in %s that no file has", async (_, headers) => {
    const server = fakeServer(bytes, () => reply(206, bytes.slice(0, 65_536), headers));
    const error = await expectError(() => open(server), { code: "http", names: ["1000000000"] });
    expect(error.details.status).toBe(206);
  });
});

describe("answers that are not what was asked for", () => {
  const good = plain(bytes);
  /** Opens with good answers, then reads bytes 100,000 to 100,010 with the given one. */
  async function readWith(answer: Response | (() => Response)): Promise<unknown> {
    const server = fakeServer(bytes, (request, count) =>
      count === 1 ? good(request, count) : answer instanceof Response ? answer : answer(),
    );
    const source = await open(server);
    return source.read(100_000, 10);
  }
  const ten = bytes.slice(100_000, 100_010);
  const range = { "Content-Range": "bytes 100000-100009/200000" };

  test.each([
    ["the whole file", "http", reply(200, bytes)],
    ["no such range", "http", reply(416, null, { "Content-Range": "bytes */200000" })],
    ["a shorter file", "source-changed", reply(416, null, { "Content-Range": "bytes */9000" })],
    ["another start", "http", reply(206, ten, { "Content-Range": "bytes 99999-100008/200000" })],
    ["a longer range", "http", reply(206, ten, { "Content-Range": "bytes 100000-100010/200000" })],
    [
      "a shorter range than its bytes",
      "http",
      reply(206, ten, { "Content-Range": "bytes 100000-100004/200000" }),
    ],
    [
      "several parts",
      "http",
      reply(206, ten, { "Content-Type": "multipart/byteranges; boundary=x" }),
    ],
    ["a coded range", "http", reply(206, ten, { ...range, "Content-Encoding": "gzip" })],
    ["more bytes", "http", reply(206, bytes.slice(0, 11), range)],
    ["fewer bytes", "truncated", reply(206, ten.slice(0, 9), range)],
    ["fewer bytes, range hidden", "truncated", reply(206, ten.slice(0, 9))],
    ["no bytes", "truncated", reply(206, null, range)],
    ["another ETag", "source-changed", reply(206, ten, { ...range, ETag: '"2"' })],
    ["another date", "source-changed", reply(206, ten, { ...range, "Last-Modified": "Tue" })],
    [
      "another total",
      "source-changed",
      reply(206, ten, { "Content-Range": "bytes 100000-100009/200001" }),
    ],
  ])("%s is %s", async (_, code, answer) => {
    await expectError(() => readWith(answer), { code });
  });

  test("are refused for the first answer as well", async () => {
    const few = bytes.slice(0, 100);
    for (const [names, answer] of [
      [["more than the range 0 to 10"], reply(206, few, { "Content-Range": "bytes 0-9/100" })],
      [["multipart"], reply(206, few, { "Content-Type": "Multipart/ByteRanges; boundary=x" })],
    ] as const) {
      const error = await expectError(() => open(fakeServer(few, () => answer)), {
        code: "http",
        names,
      });
      expect(error.details.status).toBe(206);
    }
  });

  test("a weak ETag, an unknown total and hidden headers prove no change", async () => {
    expect(await readWith(reply(206, ten, { ...range, ETag: 'W/"1"' }))).toEqual(ten);
    expect(await readWith(reply(206, ten, { "Content-Range": "bytes 100000-100009/*" }))).toEqual(
      ten,
    );
    expect(await readWith(reply(206, ten))).toEqual(ten);
    const zip = { ...range, "Content-Type": "multipart/x-zip" }; // what some servers call an archive
    expect(await readWith(reply(206, ten, zip))).toEqual(ten);
  });
});

describe("reads", () => {
  test("cost the bytes they need and no more", async () => {
    const server = fakeServer(bytes);
    const source = await open(server);
    expect(sameBytes(await source.read(60_000, 10_000), bytes.subarray(60_000, 70_000))).toBe(true);
    const into = new Uint8Array(300);
    expect(
      sameBytes(await source.read(150_000, 200, { into }), bytes.subarray(150_000, 150_200)),
    ).toBe(true);
    expect([...into.subarray(200)]).toEqual(Array(100).fill(0));
    expect(server.ranges().slice(1)).toEqual(["bytes=65536-69999", "bytes=150000-150199"]);
    await source.read(180_000, 0);
    expect(server.requests.length).toBe(3);
  });

  test("that wait at the same time and lie close together share a request", async () => {
    const server = fakeServer(bytes);
    const source = await open(server);
    const wanted = [
      [101_000, 500],
      [100_000, 1000],
      [100_500, 700],
      [101_600, 50],
      [199_000, 1000],
    ] as const;
    const got = await Promise.all(wanted.map(([at, length]) => source.read(at, length)));
    wanted.forEach(([at, length], i) => {
      expect(sameBytes(got[i] ?? bytes, bytes.subarray(at, at + length))).toBe(true);
    });
    expect(server.ranges().slice(1)).toEqual(["bytes=100000-101649", "bytes=199000-199999"]);
  });

  test("beyond six requests wait, and merge while they wait", async () => {
    const far = pattern(3_000_000);
    const held: (() => void)[] = [];
    const good = plain(far);
    const server = fakeServer(far, (request, count) => {
      if (count === 1) return good(request, count);
      return new Promise((resolve) => held.push(() => resolve(good(request, count))));
    });
    const source = await open(server);
    const reads = Array.from({ length: 8 }, (_, i) => source.read(100_000 + i * 300_000, 10));
    await vi.waitFor(() => expect(held.length).toBe(6));
    reads.push(source.read(1_900_020, 10), source.read(1_900_050, 10));
    held.shift()?.();
    await vi.waitFor(() => expect(held.length).toBe(6));
    expect(server.ranges().at(-1)).toBe("bytes=1900000-1900059");
    while (server.requests.length < 9) {
      held.shift()?.();
      await Promise.resolve();
    }
    for (const go of held) go();
    expect((await Promise.all(reads)).map((b) => b[0])).toEqual([
      ...Array.from({ length: 8 }, (_, i) => far[100_000 + i * 300_000]),
      far[1_900_020],
      far[1_900_050],
    ]);
  });

  test("give an answer for each of very many at once", async () => {
    const server = fakeServer(bytes);
    const source = await open(server);
    const reads = Array.from({ length: 5_000 }, (_, i) => source.read(70_000 + i * 20, 20));
    const got = await Promise.all(reads);
    expect(got.every((b, i) => b.every((v, j) => v === bytes[70_000 + i * 20 + j]))).toBe(true);
    expect(server.requests.length).toBe(2);
  });

  test("after close, and those under way, are refused", async () => {
    const good = plain(bytes);
    const server = fakeServer(bytes, (request, count) =>
      count === 1 ? good(request, count) : new Promise<Response>(() => {}),
    );
    const source = await open(server);
    const reading = expectError(() => source.read(100_000, 5), { code: "invalid-argument" });
    await turns();
    expect(server.requests.length).toBe(2);
    await source.close?.();
    await source.close?.();
    await reading;
    expect(server.requests[1]?.signal?.aborted).toBe(true);
    await expectError(() => source.read(0, 5), { code: "invalid-argument", names: ["closed"] });
  });

  test("outside the file are refused without a request", async () => {
    const server = fakeServer(bytes);
    const source = await open(server);
    await expectError(() => source.read(199_999, 2), { code: "truncated" });
    await expectError(() => source.read(-1, 2), { code: "invalid-argument" });
    await expectError(() => source.read(0, 3, { into: new Uint8Array(2) }), {
      code: "invalid-argument",
    });
    expect(server.requests.length).toBe(1);
  });
});

describe("failures that may pass", () => {
  const down = (): never => {
    throw new TypeError("fetch failed", {
      cause: Object.assign(new Error(), { code: "ECONNRESET" }),
    });
  };

  /** Lets waits pass without waiting. */
  async function hurry<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const end = (): void => {
      done = true;
    };
    work.then(end, end);
    while (!done) await vi.advanceTimersByTimeAsync(50);
    return work;
  }

  test("a server that cannot be reached is tried three times, a known one longer", async () => {
    vi.useFakeTimers();
    const never = fakeServer(bytes, down);
    const error = await hurry(
      expectError(() => open(never), { code: "http", names: ["ECONNRESET"] }),
    );
    expect(error.details.errno).toBe("ECONNRESET");
    expect(never.requests.length).toBe(3);

    const good = plain(bytes);
    const lost = fakeServer(bytes, (request, count) => (count === 1 ? good(request, 1) : down()));
    const source = await open(lost);
    await hurry(expectError(() => source.read(100_000, 5), { code: "http" }));
    expect(lost.requests.length).toBe(6);
  });

  test("503 and 429 are tried again after as long as the server says", async () => {
    vi.useFakeTimers();
    const good = plain(bytes);
    for (const [header, milliseconds] of [
      [() => "7", 7_000],
      [() => "0", 0],
      [() => new Date(Date.now() + 20_000).toUTCString(), 20_000],
    ] as const) {
      const server = fakeServer(bytes, (request, count) =>
        count === 1 ? reply(429, "busy", { "Retry-After": header() }) : good(request, count),
      );
      const before = Date.now();
      const source = await hurry(open(server));
      expect(source.size).toBe(bytes.length);
      expect(Date.now() - before).toBeGreaterThanOrEqual(milliseconds - 1000); // dates have whole seconds
      expect(Date.now() - before).toBeLessThanOrEqual(milliseconds + 50);
      expect(server.requests.length).toBe(2);
    }
  });

  test("a server that stays busy, or asks for too much patience, is given up", async () => {
    vi.useFakeTimers();
    const busy = fakeServer(bytes, () => reply(503, null));
    const error = await hurry(expectError(() => open(busy), { code: "http", names: ["503"] }));
    expect(error.details.status).toBe(503);
    expect(busy.requests.length).toBe(3);
    const later = fakeServer(bytes, () => reply(503, null, { "Retry-After": "3600" }));
    await expectError(() => open(later), { code: "http", names: ["503"] });
    expect(later.requests.length).toBe(1);
  });

  test("a connection that breaks is resumed where it broke", async () => {
    vi.useFakeTimers();
    const good = plain(bytes);
    const server = fakeServer(bytes, (request, count) => {
      if (count % 2 === 1) return good(request, count);
      const { start, end } = request;
      return reply(206, broken(bytes.slice(start, start + 1000)), {
        "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}`,
      });
    });
    const source = await open(server);
    expect(
      sameBytes(await hurry(source.read(100_000, 5_000)), bytes.subarray(100_000, 105_000)),
    ).toBe(true);
    expect(server.ranges().slice(1)).toEqual(["bytes=100000-104999", "bytes=101000-104999"]);
  });

  test("a connection that breaks after the last byte asks for nothing more", async () => {
    vi.useFakeTimers();
    const server = fakeServer(bytes, (request, count) => {
      const { start, end } = request;
      if (count === 1) return plain(bytes)(request, count);
      return reply(206, broken(bytes.slice(start, end)), {
        "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}`,
      });
    });
    const source = await open(server);
    expect(await source.read(100_000, 10)).toEqual(bytes.slice(100_000, 100_010));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.ranges().slice(1)).toEqual(["bytes=100000-100009"]);
  });

  test("a file that changed while the connection was down is not stitched together", async () => {
    vi.useFakeTimers();
    const good = plain(bytes);
    const changed = plain(bytes, { headers: { ETag: '"2"' } });
    const server = fakeServer(bytes, (request, count) => {
      if (count === 2) return reply(206, broken(bytes.slice(100_000, 100_500)));
      return (count === 1 ? good : changed)(request, count);
    });
    const source = await open(server);
    await hurry(expectError(() => source.read(100_000, 5_000), { code: "source-changed" }));
  });

  test("a first answer that breaks is asked for again", async () => {
    vi.useFakeTimers();
    for (const status of [200, 206]) {
      const good = plain(bytes);
      const server = fakeServer(bytes, (request, count) =>
        count === 1 ? reply(status, broken(bytes.slice(0, 10))) : good(request, count),
      );
      expect((await hurry(open(server))).size).toBe(bytes.length);
    }
  });

  test("a first answer that breaks each time is given up within a second", async () => {
    vi.useFakeTimers();
    const server = fakeServer(bytes, () => reply(206, broken(bytes.slice(0, 10))));
    const before = Date.now();
    await hurry(expectError(() => open(server), { code: "http", names: ["broke off"] }));
    expect(Date.now() - before).toBeLessThan(1000);
    expect(server.requests.length).toBe(3);
  });
});

describe("cancelling", () => {
  const reason = new Error("enough");
  const good = plain(bytes);
  const stuck = (): FakeServer =>
    fakeServer(bytes, (request, count) =>
      count === 1 ? good(request, count) : new Promise<Response>(() => {}),
    );

  test("ends opening at once, and before anything is sent", async () => {
    const controller = new AbortController();
    const server = fakeServer(bytes, () => new Promise<Response>(() => {}));
    const opening = open(server, { signal: controller.signal });
    controller.abort(reason);
    await expect(opening).rejects.toBe(reason);
    expect(server.requests[0]?.signal?.aborted).toBe(true);
    await expect(open(server, { signal: controller.signal })).rejects.toBe(reason);
    expect(server.requests.length).toBe(1);
  });

  test("ends a wait between two attempts", async () => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const server = fakeServer(bytes, () => reply(503, null, { "Retry-After": "20" }));
    const opening = open(server, { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(10);
    controller.abort(reason);
    await expect(opening).rejects.toBe(reason);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.requests.length).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("one read leaves the others of its request alone; the last one ends the request", async () => {
    const server = stuck();
    const source = await open(server);
    const [first, second] = [new AbortController(), new AbortController()];
    const one = source.read(100_000, 5, { signal: first.signal });
    const two = source.read(100_010, 5, { signal: second.signal });
    await turns();
    expect(server.requests.length).toBe(2);
    first.abort(reason);
    await expect(one).rejects.toBe(reason);
    expect(server.requests[1]?.signal?.aborted).toBe(false);
    second.abort(reason);
    await expect(two).rejects.toBe(reason);
    expect(server.requests[1]?.signal?.aborted).toBe(true);
    await expect(source.read(0, 1, { signal: first.signal })).rejects.toBe(reason);
    expect(sameBytes(await source.read(0, 1), bytes.subarray(0, 1))).toBe(true);
  });

  test("the source ends every read, also those to come", async () => {
    const server = stuck();
    const controller = new AbortController();
    const source = await open(server, { signal: controller.signal });
    const reads = [source.read(100_000, 5), source.read(190_000, 5)];
    await turns();
    expect(server.requests.length).toBe(3);
    controller.abort(reason);
    for (const reading of reads) await expect(reading).rejects.toBe(reason);
    await expect(source.read(0, 5)).rejects.toBe(reason);
    expect(server.requests.slice(1).map(({ signal }) => signal?.aborted)).toEqual([true, true]);
    expect(server.requests.length).toBe(3);
  });

  test("a read before its request is sent sends none", async () => {
    const server = stuck();
    const source = await open(server);
    const controller = new AbortController();
    const reading = source.read(100_000, 5, { signal: controller.signal });
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    expect(server.requests.length).toBe(1);
  });

  test("frees the place of a request, also with a fetch that knows no signals", async () => {
    const far = pattern(3_000_000);
    const answer = plain(far);
    let cancelled = 0;
    const endless = (): ReadableStream =>
      new ReadableStream({
        cancel() {
          cancelled++;
        },
      });
    const server = fakeServer(far, (request, count) =>
      count === 1 || count > 7
        ? answer(request, count)
        : count % 2 === 0
          ? new Promise<Response>(() => {})
          : reply(206, endless()),
    );
    const source = await open(server);
    const controller = new AbortController();
    const { signal } = controller;
    const reads = Array.from({ length: 6 }, (_, i) =>
      source.read(100_000 + i * 400_000, 5, { signal }),
    );
    await turns();
    expect(server.requests.length).toBe(7);
    controller.abort(reason);
    for (const reading of reads) await expect(reading).rejects.toBe(reason);
    expect(await source.read(2_900_000, 5)).toEqual(far.subarray(2_900_000, 2_900_005));
    expect(server.requests.length).toBe(8);
    expect(cancelled).toBe(3);
  });

  test("leaves the destination alone afterwards", async () => {
    let send: (chunk: Uint8Array) => void = () => {};
    const body = new ReadableStream({
      start(controller) {
        send = (chunk) => controller.enqueue(chunk);
      },
    });
    const server = fakeServer(bytes, (request, count) =>
      count === 1 ? good(request, count) : reply(206, body),
    );
    const source = await open(server);
    const controller = new AbortController();
    const into = new Uint8Array(10);
    const dropped = source.read(100_000, 10, { into, signal: controller.signal });
    const kept = source.read(100_010, 10);
    await turns();
    expect(server.requests.length).toBe(2);
    controller.abort(reason);
    await expect(dropped).rejects.toBe(reason);
    send(bytes.slice(100_000, 100_020));
    expect(sameBytes(await kept, bytes.subarray(100_010, 100_020))).toBe(true);
    expect([...into]).toEqual(Array(10).fill(0));
  });
});
