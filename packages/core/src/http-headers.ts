/** Lets go of a body that nobody reads. */
export function discard(response: Response): void {
  response.body?.cancel?.().catch(() => {});
}

/** The range of a partial answer by its `Content-Range`, `end` exclusive; `undefined` when it is absent or hidden. */
export function contentRange(response: Response): { start: number; end: number } | undefined {
  const range = /^\s*bytes\s+(\d+)-(\d+)\//i.exec(response.headers.get("Content-Range") ?? "");
  return range === null ? undefined : { start: Number(range[1]), end: Number(range[2]) + 1 };
}

/** The whole file's size by the `Content-Range` of a status 206 or 416, where it is told. */
export function totalSize(response: Response): number | undefined {
  const total = /\/(\d+)\s*$/.exec(response.headers.get("Content-Range") ?? "");
  return total === null ? undefined : Number(total[1]);
}

/** `Content-Length`; `undefined` when it is absent or hidden. */
export function contentLength(response: Response): number | undefined {
  const text = response.headers.get("Content-Length") ?? "";
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** `Content-Encoding` when there is one; a page of another origin does not see it. */
export function contentEncoding(response: Response): string | undefined {
  const coding = response.headers.get("Content-Encoding")?.trim() ?? "";
  return coding === "" || coding.toLowerCase() === "identity" ? undefined : coding;
}

/** Milliseconds of a `Retry-After` header: seconds, or a date. */
export function retryAfter(header: string | null): number | undefined {
  if (header === null || header.trim() === "") return undefined;
  const wait = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
