import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isTensorjarError, quote, TensorjarError } from "./error.js";
import { errnoOf, fileError, withCode } from "./file-error.node.js";

/** A file that will take the name of another one. */
export interface TemporaryFile {
  readonly fd: number;
  /** In the folder of the target, so that a rename is enough. */
  readonly path: string;
  /** What it will be called: behind symbolic links. */
  readonly target: string;
  /** False once it was renamed or removed. */
  present: boolean;
}

/**
 * Makes `.tensorjar-PID-UUID.tmp` beside the file that `named` (absolute) leads to, with its mode when there is one.
 * Synchronous, so that nothing can be aborted half-way. `path` is what messages call the file.
 */
export function createTemporary(
  named: string,
  path: string,
  ifExists: "replace" | "error",
): TemporaryFile {
  if (/[\\/]$/.test(path)) throw withCode("EISDIR", "a folder");
  const target = realTarget(named);
  const old = fs.statSync(target, { throwIfNoEntry: false });
  if (old !== undefined && ifExists === "error") throw exists(path);
  if (old?.isDirectory()) throw withCode("EISDIR", "a folder");
  if (old !== undefined && !old.isFile()) {
    throw new TensorjarError("io", `${quote(path)} is not a regular file`, {
      path,
      hint: "write to a file, or give a sink of your own",
    });
  }
  const mode = old === undefined ? 0o666 : old.mode & 0o777;
  const temporary = join(dirname(target), `.tensorjar-${process.pid}-${randomUUID()}.tmp`);
  const fd = fs.openSync(temporary, "wx", mode);
  const file: TemporaryFile = { fd, path: temporary, target, present: true };
  if (old !== undefined) {
    try {
      // What the umask took away, and only then: Node's permission model has no fchmod.
      if ((fs.fstatSync(fd).mode & 0o777) !== mode) fs.fchmodSync(fd, mode);
    } catch (cause) {
      removeTemporary(file);
      fs.closeSync(fd);
      throw cause;
    }
  }
  return file;
}

/** Where the bytes really go: behind symbolic links, also one that points to a file that is not there yet. */
function realTarget(named: string): string {
  let target = named;
  for (let links = 0; links < 40; links++) {
    const found = fs.lstatSync(target, { throwIfNoEntry: false });
    const folder = fs.realpathSync(dirname(target));
    if (found === undefined || !found.isSymbolicLink()) return join(folder, basename(target));
    target = resolve(folder, fs.readlinkSync(target));
  }
  throw withCode("ELOOP", "too many symbolic links");
}

/** Gives the file its name, in one step that other processes see as a whole. */
export function commitTemporary(
  file: TemporaryFile,
  path: string,
  ifExists: "replace" | "error",
): void {
  try {
    if (ifExists === "error") nameUnlessTaken(file, path);
    else fs.renameSync(file.path, file.target);
  } catch (cause) {
    if (isTensorjarError(cause)) throw cause;
    throw fileError(cause, path, "could not be given its name", "io");
  }
  file.present = false;
}

/** What systems say where a disk has no hard links: FAT, some network disks, Android. */
const noHardLinks = /^(EPERM|EACCES|ENOTSUP|EOPNOTSUPP|ENOSYS|EINVAL|EMLINK)$/;

function nameUnlessTaken(file: TemporaryFile, path: string): void {
  try {
    fs.linkSync(file.path, file.target);
  } catch (cause) {
    if (errnoOf(cause) === "EEXIST") throw exists(path);
    if (!noHardLinks.test(errnoOf(cause))) throw cause;
    reserve(file.target, path);
    try {
      fs.renameSync(file.path, file.target);
    } catch (renaming) {
      fs.unlinkSync(file.target);
      throw renaming;
    }
    return;
  }
  removeTemporary(file);
}

/** Takes a name by an empty file, unless somebody has it. */
function reserve(target: string, path: string): void {
  try {
    fs.closeSync(fs.openSync(target, "wx"));
  } catch (cause) {
    throw errnoOf(cause) === "EEXIST" ? exists(path) : cause;
  }
}

function exists(path: string): TensorjarError {
  return new TensorjarError("already-exists", `${quote(path)} exists already`, {
    path,
    hint: 'choose another name, or ifExists: "replace"',
  });
}

/** Removes the file while it has no other name; whatever hinders that, an earlier failure is the one to tell. */
export function removeTemporary(file: TemporaryFile): void {
  if (!file.present) return;
  file.present = false;
  try {
    fs.unlinkSync(file.path);
  } catch {
    // as said
  }
}
