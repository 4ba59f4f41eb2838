/** Runs a suite against live Python, in a folder where both sides exchange files. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../tooling/folder.node.js";

/** What a suite needs: NumPy, ml_dtypes and safetensors; these with JAX, Optax and MLX; PyTorch and safetensors; or NumPy 1. */
export type PythonSet = "core" | "jax" | "torch" | "numpy1";

const sets: Record<PythonSet, { folder: string; requirements: string; option: string }> = {
  core: { folder: ".venv", requirements: "requirements.txt", option: "" },
  jax: { folder: ".venv", requirements: "requirements-jax.txt", option: " --jax" },
  torch: { folder: ".venv-torch", requirements: "requirements-torch.txt", option: " --torch" },
  numpy1: { folder: ".venv-numpy1", requirements: "requirements-numpy1.txt", option: " --numpy1" },
};

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The interpreter of an environment that `setup.mjs` finished for the requirements as they are now. */
function interpreter(set: PythonSet): string | undefined {
  const { folder, requirements } = sets[set];
  const stamp = here(`${folder}/${requirements}`);
  if (
    !existsSync(stamp) ||
    readFileSync(stamp, "utf8") !== readFileSync(here(requirements), "utf8")
  )
    return undefined;
  return here(
    process.platform === "win32" ? `${folder}/Scripts/python.exe` : `${folder}/bin/python`,
  );
}

export interface Python {
  /** A path in the folder of the suite, which is the scripts' working folder; gone afterwards. */
  path(name: string): string;
  /** Runs `interop/script` with `args`; what it printed. Rejects with its stderr when it fails. */
  run(script: string, ...args: string[]): Promise<string>;
}

/**
 * A suite that needs Python. Where there is none it is reported as skipped, with what to do; in CI it fails.
 */
export function interop(name: string, set: PythonSet, suite: (python: Python) => void): void {
  const command = interpreter(set);
  const body = (): void => {
    const { path } = temporaryFolder();
    suite({
      path,
      async run(script, ...args) {
        if (command === undefined) throw new Error("no Python");
        const options = { cwd: path(), maxBuffer: 64 << 20 };
        const words = ["-P", here(script), ...args];
        return (await promisify(execFile)(command, words, options)).stdout;
      },
    });
  };
  if (command !== undefined) {
    describe(name, body);
    return;
  }
  const todo = `node interop/setup.mjs${sets[set].option}`;
  if (process.env["CI"] === "true") {
    test(name, () => expect.fail(`the Python environment is not there: ${todo}`));
    return;
  }
  console.warn(`skipped: ${name}; ${todo} makes its Python environment`);
  describe.skip(name, body);
}

/** Where a file is in the one that holds many. */
export type Span = readonly [start: number, end: number];

/** Many files of Python's: `NAME.bin` holds them one after another, the index of `NAME.json` says where. */
export async function readPack<T>(
  python: Python,
  name: string,
): Promise<{ index: T; part(span: Span): Uint8Array }> {
  const bytes = new Uint8Array(await readFile(python.path(`${name}.bin`)));
  const index: T = JSON.parse(await readFile(python.path(`${name}.json`), "utf8"));
  return { index, part: ([start, end]) => bytes.subarray(start, end) };
}

/** The same the other way, as `ours`; the index says of each file what `entry` makes of its place. */
export async function writePack(
  python: Python,
  files: readonly Uint8Array[],
  entry: (span: Span, file: Uint8Array) => unknown = (span) => span,
): Promise<void> {
  let end = 0;
  const index = files.map((file) => {
    const start = end;
    end += file.length;
    return entry([start, end], file);
  });
  await writeFile(python.path("ours.bin"), Buffer.concat(files));
  await writeFile(python.path("ours.json"), JSON.stringify(index));
}
