import { expect, test } from "vitest";
import { startCaseServer } from "../case-server.js";

test("the case server serves ranges and remembers what was asked", async () => {
  const server = await startCaseServer(Uint8Array.of(10, 11, 12, 13));
  const response = await fetch(`${server.url}/ok`, { headers: { range: "bytes=1-2" } });
  expect(response.status).toBe(206);
  expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([11, 12]);
  expect(await server.requests()).toEqual([{ mode: "ok", method: "GET", range: "bytes=1-2" }]);
  await server.close();
  await expect(fetch(`${server.url}/ok`)).rejects.toThrow(TypeError);
});
