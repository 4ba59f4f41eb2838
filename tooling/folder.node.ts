import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/** A folder of its own for a test file, gone afterwards; `path(name)` is a file in it, `list()` what it holds. */
export function temporaryFolder(): { path(...names: string[]): string; list(): string[] } {
  let folder = "";
  beforeAll(() => {
    folder = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "tensorjar-test-")));
  });
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));
  return {
    path: (...names) => join(folder, ...names),
    list: () => fs.readdirSync(folder).sort(),
  };
}
