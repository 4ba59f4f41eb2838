// The snippets of docs/checkpoints.md, run as printed: a run handed to PyTorch, Optax and MLX and taken back.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  diffCheckpoints,
  inspectCheckpoint,
  safetensorsCheckpoint,
  type TrainingState,
} from "@tensorjar/checkpoint";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gather } from "../packages/checkpoint/test/support.js";
import { blocksOf } from "../tooling/documents.mjs";
import { interop } from "./python.js";

const here = fileURLToPath(new URL(".", import.meta.url));

/** The code blocks by the file names that they are given. */
const files = new Map(
  blocksOf("docs/checkpoints.md").map(({ file = "", code }) => [file, code] as const),
);

interface Printed {
  newState(): TrainingState;
  update(state: TrainingState): void;
  train(folder: string, steps: number): Promise<TrainingState>;
  handOver(state: TrainingState, library: string, path: string): Promise<void>;
  takeBack(state: TrainingState, library: string, path: string): Promise<void>;
}

let folder: string;
let printed: Printed;

beforeAll(async () => {
  await mkdir(join(here, ".cache"), { recursive: true });
  folder = await mkdtemp(join(here, ".cache/snippets-")); // inside the workspace, where its packages are found
  for (const [name, code] of files) await writeFile(join(folder, name), code);
  const load = (name: string) => import(/* @vite-ignore */ pathToFileURL(join(folder, name)).href);
  const modules = [await load("adamw.mjs"), await load("train.mjs"), await load("exchange.mjs")];
  printed = Object.assign({}, ...modules);
});
afterAll(() => rm(folder, { recursive: true }));

function trained(steps: number): TrainingState {
  const state = printed.newState();
  for (let step = 0; step < steps; step++) printed.update(state);
  return state;
}

const encoded = (state: TrainingState): Promise<Uint8Array> =>
  gather(safetensorsCheckpoint.chunks(state));

/** Both states hold the same, but for roundings of at most 1e-6. */
async function expectClose(actual: TrainingState, expected: TrainingState): Promise<void> {
  const differences = await diffCheckpoints(await encoded(actual), await encoded(expected));
  for (const { path, kind, maxAbs } of differences) {
    expect([path, kind]).toEqual([path, "values"]);
    expect(maxAbs, path).toBeLessThanOrEqual(1e-6);
  }
}

test("a run that was stopped and resumed is the uninterrupted one, bit for bit", async () => {
  const place = join(folder, "run");
  await printed.train(place, 30);
  const resumed = await printed.train(place, 45);
  const whole = await printed.train(join(folder, "whole"), 45);
  expect(await diffCheckpoints(await encoded(resumed), await encoded(whole))).toEqual([]);
  expect((await inspectCheckpoint(await encoded(resumed))).step).toBe(45);
});

for (const [library, set] of [
  ["torch", "torch"],
  ["optax", "jax"],
  ["mlx", "jax"],
] as const) {
  interop(`${library}, by the snippets of the documentation`, set, (python) => {
    test("goes on where our run stopped, and ours goes on where it stops", async () => {
      await writeFile(
        join(folder, `resume_${library}.py`),
        files.get(`resume_${library}.py`) ?? "",
      );
      const script = join(folder, `resume_${library}.py`);
      const [first, second, third] = ["first", "second", "third"].map((name) =>
        python.path(`${library}-${name}.safetensors`),
      ) as [string, string, string]; // one for each name
      await printed.handOver(trained(5), library, first);
      await python.run(script, first, second);
      const live = printed.newState();
      await printed.takeBack(live, library, second);
      await expectClose(live, trained(8));
      for (let step = 0; step < 3; step++) printed.update(live);
      await python.run(script, second, third);
      const theirs = printed.newState();
      await printed.takeBack(theirs, library, third);
      await expectClose(live, theirs);
    });
  });
}
