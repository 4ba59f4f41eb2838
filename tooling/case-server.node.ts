import type { CaseServer, SeenRequest } from "./case-server.js";

/** What `cases/http/server.mjs` gives. */
interface RawServer {
  readonly url: string;
  readonly log: readonly SeenRequest[];
  close(): Promise<void>;
}

export async function start(bytes: Uint8Array): Promise<CaseServer> {
  const file: string = new URL("../cases/http/server.mjs", import.meta.url).href;
  const { startServer }: { startServer(bytes: Uint8Array): Promise<RawServer> } = await import(
    file
  );
  const { url, log, close } = await startServer(bytes);
  return { url, requests: async () => [...log], close };
}

const servers = new Map<string, CaseServer>();

function running(url: string): CaseServer {
  const server = servers.get(url);
  if (!server) throw new Error(`no case server at ${url}`);
  return server;
}

/** The same for a page: Vitest runs these in Node on its behalf. */
export const commands = {
  async startCaseServer(_: unknown, bytes: number[]): Promise<string> {
    const server = await start(Uint8Array.from(bytes));
    servers.set(server.url, server);
    return server.url;
  },
  caseServerRequests: (_: unknown, url: string): Promise<readonly SeenRequest[]> =>
    running(url).requests(),
  async closeCaseServer(_: unknown, url: string): Promise<void> {
    await running(url).close();
    servers.delete(url);
  },
};
