import { npzCheckpoint, safetensorsCheckpoint, verifyCheckpoint } from "@tensorjar/checkpoint";
import { describe, expect, test } from "vitest";
import { type Case, loadCases } from "../../../tooling/cases.js";
import { content, gather } from "./support.js";

interface GoldenCase extends Case {
  readonly file: string;
  readonly format: "safetensors" | "npz";
  readonly content: object;
}

const { cases, read } = await loadCases<GoldenCase>("checkpoint-golden");
const formats = { safetensors: safetensorsCheckpoint, npz: npzCheckpoint };

describe("a file of every version of each schema", () => {
  test.each(cases)("$id: $title", async ({ file, format, content: expected }) => {
    const bytes = await read(file);
    const snapshot = await formats[format].load(bytes);
    expect(JSON.parse(JSON.stringify(content(snapshot)))).toEqual(expected);
    expect(await gather(formats[format].chunks(snapshot))).toEqual(bytes);
    expect((await verifyCheckpoint(bytes)).version).toBe(snapshot.version);
  });
});
