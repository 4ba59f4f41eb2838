import { fileURLToPath } from "node:url";
import { describe, quote, TensorjarError } from "./error.js";
import { withoutSecrets } from "./http-url.js";

/** The path that a string or a `file:` URL, also as text, names. Throws `invalid-argument`; other URLs are no paths. */
export function toPath(path: string | URL): string {
  const given: unknown = path;
  if (typeof given !== "string" && !(given instanceof URL)) {
    throw new TensorjarError("invalid-argument", `expected a path, got ${describe(given)}`);
  }
  const named =
    typeof given === "string" && !/^(file|https?):/i.test(given) ? given : urlToPath(given);
  if (!named.includes("\0")) return named;
  throw new TensorjarError("invalid-argument", `the path ${quote(named)} holds a NUL`);
}

function urlToPath(given: string | URL): string {
  try {
    return fileURLToPath(given);
  } catch (cause) {
    throw new TensorjarError(
      "invalid-argument",
      `${quote(withoutSecrets(String(given)))} is not the URL of a local file`,
      { hint: "read other URLs with httpSource(url)" },
      /^file:/i.test(String(given)) ? { cause } : {}, // what others say may quote a password
    );
  }
}

/** The system's own code of an error, such as `ENOSPC`. */
export function errnoOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : "";
}

const hints: { readonly [errno: string]: string } = {
  EACCES: "the permissions of the file or its folder do not allow it",
  EDQUOT: "the disk quota is used up",
  EISDIR: "it is a folder",
  EMFILE: "too many files are open: close those that are done with",
  ERR_ACCESS_DENIED:
    "Node's permission model does not allow it; nor does it allow to wait for the disk: write to fileSink(path, { durable: false })",
  ENOENT: "there is no such file or folder",
  ENOSPC: "the disk is full",
  EROFS: "the disk is read-only",
};

/** An error of the system as one of tensorjar's: `not-found` for ENOENT, `io` for others. */
export function fileError(
  cause: unknown,
  path: string,
  what: string,
  code: "io" | "not-found" = errnoOf(cause) === "ENOENT" ? "not-found" : "io",
): TensorjarError {
  const errno = errnoOf(cause);
  const hint = hints[errno];
  return new TensorjarError(
    code,
    `${quote(path)} ${what} (${errno || String(cause)})`,
    { path, ...(errno && { errno }), ...(hint !== undefined && { hint }) },
    { cause },
  );
}

/** An error with a code such as the system gives. */
export function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
