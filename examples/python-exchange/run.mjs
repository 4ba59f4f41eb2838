// Arrays to Python and back, through NumPy and, where they are installed, safetensors and torch.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { load, save, tensor } from "tensorjar";

const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const own = here("../../interop/.venv/bin/python");
const python = [process.env.PYTHON, existsSync(own) ? own : undefined, "python3"].find(
  (path) => path,
);
if (spawnSync(python, ["-c", "import numpy"]).status !== 0) {
  console.log("skipped: no Python with NumPy here (set PYTHON to one)");
  process.exit(0);
}

const folder = await mkdtemp(join(tmpdir(), "python-exchange-"));
try {
  const arrays = {
    image: tensor(
      Float32Array.from({ length: 12 }, (_, i) => i / 4),
      [3, 4],
    ),
    counts: tensor([1n, 9007199254740993n], [2], "int64"),
    mask: tensor([
      [true, false],
      [false, true],
    ]),
  };
  await save(join(folder, "from-js.npz"), arrays);
  await save(join(folder, "from-js.safetensors"), arrays);

  const { stdout, stderr, status } = spawnSync(python, [here("exchange.py"), folder], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  process.stdout.write(stdout);

  const { tensors } = await load(join(folder, "from-python.npz"));
  assert.deepEqual(
    tensors.get("doubled").data,
    arrays.image.data.map((x) => 2 * x),
  );
  assert.deepEqual(tensors.get("counts"), arrays.counts);
  assert.deepEqual(tensors.get("mask"), arrays.mask);
  console.log(
    `back in JavaScript: ${[...tensors].map(([name, t]) => `${name} ${t.dtype} [${t.shape}]`).join(", ")}`,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
