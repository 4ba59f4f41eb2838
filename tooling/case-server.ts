/** The faulty file server of `cases/http`, for tests that run in Node and in a page alike. */

/** One request that the server saw. */
export interface SeenRequest {
  readonly mode: string;
  readonly method: string;
  readonly range: string | null;
}

export interface CaseServer {
  /** `${url}/${mode}` serves the bytes in the way of that mode. */
  readonly url: string;
  requests(): Promise<readonly SeenRequest[]>;
  close(): Promise<void>;
}

/** Serves `bytes` on a port of its own; a page reaches it across origins. */
export async function startCaseServer(bytes: Uint8Array): Promise<CaseServer> {
  if (typeof document === "undefined") {
    const name = "./case-server.node.js"; // in a variable, so that the browser's bundler does not follow it
    const { start }: typeof import("./case-server.node.js") = await import(/* @vite-ignore */ name);
    return start(bytes);
  }
  const { commands } = await import("vitest/browser");
  const url = await commands.startCaseServer(Array.from(bytes));
  return {
    url,
    requests: () => commands.caseServerRequests(url),
    close: () => commands.closeCaseServer(url),
  };
}

declare module "vitest/browser" {
  interface BrowserCommands {
    startCaseServer(bytes: number[]): Promise<string>;
    caseServerRequests(url: string): Promise<readonly SeenRequest[]>;
    closeCaseServer(url: string): Promise<void>;
  }
}
