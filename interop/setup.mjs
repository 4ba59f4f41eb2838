// Makes the Python environments of the interop suite in folders that git ignores: `node interop/setup.mjs [--jax] [--torch] [--numpy1]`.
// Does nothing when they are there. Without Python it says which suites are skipped; in CI that is a failure,
// and everything is installed.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const ci = process.env.CI === "true";
const wanted = (option) => ci || process.argv.includes(option);

/** Output of a command, or undefined when it failed or is not there. */
function output(command, ...args) {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { stdio: ["ignore", 2, 2] });
  if (error || status !== 0) throw new Error(`${command} ${args.join(" ")} failed`);
}

/** A Python that NumPy 2.4 runs on. */
function findPython() {
  const test = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
  return [process.env.PYTHON, "python3", "python", "/usr/bin/python3"].find(
    (command) => command && output(command, "-c", test) !== undefined,
  );
}

const interpreter = (folder) =>
  here(process.platform === "win32" ? `${folder}/Scripts/python.exe` : `${folder}/bin/python`);

/** Makes the environment `folder` with what `requirements` lists, unless it was made from the same list. */
function environment(folder, requirements, python, ...venvOptions) {
  const list = readFileSync(here(requirements), "utf8");
  const stamp = here(`${folder}/${requirements}`);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === list) return;
  console.error(`interop: installing ${requirements} in interop/${folder}`);
  if (!existsSync(interpreter(folder))) {
    rmSync(here(folder), { recursive: true, force: true });
    run(python, "-m", "venv", ...venvOptions, here(folder));
  }
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  run(interpreter(folder), ...pip, "-r", here(requirements));
  writeFileSync(stamp, list);
}

/**
 * PyPI's torch for Linux on x86-64 brings gigabytes of CUDA. Debian's is built for the CPU, and belongs to Debian's
 * Python, whose packages the environment then sees.
 */
function torchEnvironment(python) {
  const debian = "/usr/bin/python3";
  const hasTorch = () => output(debian, "-c", "import torch") !== undefined;
  if (process.platform === "linux" && process.arch === "x64") {
    if (!hasTorch() && ci && output("apt-get", "--version") !== undefined) {
      run("apt-get", "update", "-qq");
      run(
        "apt-get",
        "install",
        "-y",
        "-qq",
        "--no-install-recommends",
        "python3-torch",
        "python3-venv",
      );
    }
    if (!hasTorch())
      throw new Error("install torch for the CPU first: apt-get install python3-torch");
    environment(".venv-torch", "requirements-torch.txt", debian, "--system-site-packages");
  } else {
    environment(".venv-torch", "requirements-torch.txt", python);
    run(interpreter(".venv-torch"), "-m", "pip", "install", "--quiet", "torch", "numpy");
  }
}

const python = findPython();
try {
  if (python === undefined) throw new Error("no Python 3.11 or newer (with venv) was found");
  environment(".venv", "requirements.txt", python);
  if (wanted("--jax")) environment(".venv", "requirements-jax.txt", python);
  if (wanted("--torch")) torchEnvironment(python);
  if (wanted("--numpy1")) environment(".venv-numpy1", "requirements-numpy1.txt", python);
} catch (error) {
  if (ci) throw error;
  const suites = readdirSync(here(".")).filter((file) => file.endsWith(".interop.test.ts"));
  console.error(
    `interop: ${error.message}; suites that need it are skipped, of ${suites.join(", ")}`,
  );
}
