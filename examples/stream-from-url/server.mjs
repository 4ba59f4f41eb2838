// A file server with range requests, as hubs and object stores have; counts the bytes that it sends.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { basename, join } from "node:path";

export async function serveFolder(folder) {
  const sent = { requests: 0, bytes: 0 };
  const server = createServer(async (request, response) => {
    sent.requests += 1;
    const path = join(
      folder,
      basename(decodeURIComponent(new URL(request.url, "http://host").pathname)),
    );
    const { size } = await stat(path).catch(() => ({ size: -1 }));
    if (size < 0) return response.writeHead(404).end();
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    const start = range ? Number(range[1]) : 0;
    const end = Math.min(range?.[2] ? Number(range[2]) : size - 1, size - 1);
    sent.bytes += end - start + 1;
    response.writeHead(range ? 206 : 200, {
      "content-length": end - start + 1,
      ...(range ? { "content-range": `bytes ${start}-${end}/${size}` } : {}),
    });
    createReadStream(path, { start, end }).pipe(response);
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
