// Train, save a checkpoint, end the process, resume in a new one: is it as if nothing had happened?
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import plotModule from "simple-ascii-chart";

const plot = plotModule.default ?? plotModule;
const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "resume-training-"));
const half = 150;
const full = 300;

async function run(name, job) {
  const weights = join(folder, `${name}.weights.safetensors`);
  const argument = JSON.stringify({ digits: here("digits.safetensors"), weights, ...job });
  const { stdout } = await promisify(execFile)(process.execPath, [here("train.mjs"), argument]);
  return { ...JSON.parse(stdout), weights: await readFile(weights) };
}

function verdict(claim, holds) {
  console.log(`${holds ? "yes" : "NO "}  ${claim}`);
  if (!holds) process.exitCode = 1;
}

try {
  console.log(
    `1797 handwritten digits, 64-32-10 network, Adam, ${full} steps; every run is a process of its own.\n`,
  );
  const whole = await run("uninterrupted", { until: full });
  const tail = whole.losses.slice(half);
  const same = (losses) =>
    losses.length === tail.length && losses.every((loss, i) => Object.is(loss, tail[i]));

  let cold;
  for (const extension of ["safetensors", "npz"]) {
    const checkpoint = join(folder, `step-${half}.${extension}`);
    const first = await run(`first-${extension}`, { until: half, checkpoint });
    const resumed = await run(`resumed-${extension}`, { until: full, resume: checkpoint });
    const { size } = await stat(checkpoint);
    console.log(
      `${extension}: checkpoint at step ${half}, ${size.toLocaleString("en")} bytes; resumed at step ${resumed.first}`,
    );
    verdict(
      "the first half of the loss curve is the same",
      first.losses.every((loss, i) => loss === whole.losses[i]),
    );
    verdict(
      "the second half, after the resume, is bit-identical",
      resumed.first === half && same(resumed.losses),
    );
    verdict("every weight at the end is bit-identical", resumed.weights.equals(whole.weights));
    cold ??= await run("cold", { until: full, resume: checkpoint, coldMoments: true });
    console.log();
  }
  console.log("Resumed without Adam's moments:");
  verdict("the loss curve differs", !same(cold.losses));
  verdict("the weights differ", !cold.weights.equals(whole.weights));

  const chart = (title, points, settings) =>
    plot(points, {
      width: 66,
      height: 9,
      title,
      formatter: (value) => (Number.isInteger(value) ? String(value) : value.toFixed(3)),
      ...settings,
    });
  const curve = (losses, first) => losses.map((loss, i) => [first + i, loss]);
  console.log(
    chart("\nLoss of the uninterrupted run, and of the resumed one", curve(whole.losses, 0), {
      customXAxisTicks: [50, 100, 150, 200, 250, 299],
    }),
  );
  const apart = cold.losses.map((loss, i) => loss - tail[i]);
  console.log(
    chart("How far the loss is from it when the moments are lost", curve(apart, half), {
      customXAxisTicks: [150, 175, 200, 225, 250, 275, 299],
    }),
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
