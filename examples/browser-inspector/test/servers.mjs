// Servers for the tests: one that serves a folder by ranges and counts what it sends, with the faults of real ones.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const types = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

/** Serves `folder`; without `cors` no page of another origin may read it, without `ranges` it sends whole files. */
export async function serve(folder, { cors = true, ranges = true } = {}) {
  const sent = { requests: 0, bytes: 0 };
  const server = createServer(async (request, response) => {
    sent.requests += 1;
    const { pathname } = new URL(request.url, "http://host");
    const asked = normalize(decodeURIComponent(pathname)).replace(/\/$/, "/index.html");
    const path = join(folder, asked);
    const { size } = await stat(path).catch(() => ({ size: -1 }));
    const headers = {
      "content-type": types[extname(path)] ?? "application/octet-stream",
      ...(cors ? { "access-control-allow-origin": "*" } : {}),
    };
    if (size < 0) return response.writeHead(404, headers).end();
    const range = ranges ? /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") : null;
    const start = range ? Number(range[1]) : 0;
    const end = Math.min(range?.[2] ? Number(range[2]) : size - 1, size - 1);
    response.writeHead(range ? 206 : 200, {
      ...headers,
      "content-length": end - start + 1,
      ...(range ? { "content-range": `bytes ${start}-${end}/${size}` } : {}),
    });
    const body = createReadStream(path, { start, end });
    body.on("data", (chunk) => {
      sent.bytes += chunk.length;
    });
    response.on("close", () => body.destroy()); // a page may give up once it has seen the head
    body.pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    sent,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
