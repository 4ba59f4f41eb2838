import { readFileSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import pc from "picocolors";
import { isTensorjarError } from "tensorjar";
import { type ConvertOptions, convert } from "./convert.js";
import { diff } from "./diff.js";
import { inspect } from "./inspect.js";
import { metadata } from "./metadata.js";
import { errorText } from "./text.js";
import { verify } from "./verify.js";

/** 0: fine; 1: a difference, or a file that is bad or not there; 2: wrong use. */
export type ExitCode = 0 | 1 | 2;

/**
 * Runs one command line (without `node` and the program's name) and gives its exit code. Once `signal` is aborted it
 * rejects with its reason, and what is half written is gone.
 */
export async function run(
  args: readonly string[],
  signal: AbortSignal = new AbortController().signal,
): Promise<ExitCode> {
  let code: ExitCode = 0;
  const program = new Command("tensorjar")
    .description(
      "Look into, convert, compare and check files of tensors: .npy, .npz, safetensors and checkpoints.",
    )
    .version(version(), "-v, --version", "print the version")
    .addHelpText(
      "after",
      `
A file is a path or, where it is only read, an http(s) URL; URLs are read by ranges.
Exit codes: 0 fine, 1 a difference or a bad file, 2 wrong use.`,
    )
    .exitOverride()
    .showHelpAfterError();
  const json = ["--json", "print JSON"] as const;

  program
    .command("inspect")
    .argument("<file>", "path or URL")
    .description(
      "what a file or URL holds: tensors, metadata, the state of a checkpoint; reads headers only",
    )
    .option("--stats", "read the data too: min, max, mean, NaNs and a histogram of each tensor")
    .option(...json)
    .action(async (file: string, options: { stats?: boolean; json?: boolean }) => {
      await inspect(file, options, signal);
    });
  program
    .command("convert")
    .argument("<in>", "path or URL")
    .argument("<out>", "path that ends in .safetensors, .npz or .npy; replaced when it exists")
    .description(
      "copy tensors into another container, told by the extension; refuses what it cannot hold, by name",
    )
    .option("--deflate", "compress the members of an .npz")
    .option("--drop-metadata", "leave out metadata, which .npz and .npy cannot hold")
    .option("--drop-members", "leave out members of an .npz that are no arrays")
    .option(...json)
    .action(async (from: string, to: string, options: ConvertOptions) => {
      await convert(from, to, options, signal);
    });
  program
    .command("diff")
    .argument("<a>", "path or URL")
    .argument("<b>", "path or URL")
    .description(
      "compare two files tensor by tensor; exits 1 when one differs. Metadata that differs is named only",
    )
    .option(...json)
    .action(async (a: string, b: string, options: { json?: boolean }) => {
      if (!(await diff(a, b, options, signal))) code = 1;
    });
  program
    .command("verify")
    .argument("<path>", "path or URL, or a folder")
    .description(
      "read a file, or every file of tensors in a folder, to its last byte; exits 1 when one is bad",
    )
    .option(...json)
    .action(async (path: string, options: { json?: boolean }) => {
      if (!(await verify(path, options, signal))) code = 1;
    });
  program
    .command("metadata")
    .argument("<file>", "path or, when nothing is changed, URL")
    .description(
      "print the metadata of a safetensors file, or change it without loading the tensors",
    )
    .option("--set <key=value>", "set a key (may be repeated)", keyValue)
    .option("--unset <key>", "remove a key (may be repeated)", collect)
    .option(...json)
    .action(
      async (
        file: string,
        options: { set?: [string, string][]; unset?: string[]; json?: boolean },
      ) => {
        await metadata(file, options, signal);
      },
    );

  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!isTensorjarError(error)) throw error;
    console.error(`${pc.red(error.code)}  ${errorText(error)}`);
    return isTensorjarError(error, "invalid-argument") ? 2 : 1;
  }
}

function version(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  );
  const known = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return known ? String(manifest.version) : "unknown";
}

function keyValue(text: string, before: [string, string][] = []): [string, string][] {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("write KEY=VALUE");
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

function collect(text: string, before: string[] = []): string[] {
  return [...before, text];
}
