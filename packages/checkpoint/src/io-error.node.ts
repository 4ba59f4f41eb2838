import { TensorjarError } from "@tensorjar/core";
import { quote } from "@tensorjar/core/codec";

/** The system's code of an error, or `""`. */
export function errnoOf(error: unknown): string {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

export function ioError(cause: unknown, path: string, what: string): TensorjarError {
  const errno = errnoOf(cause);
  return new TensorjarError(
    errno === "ENOENT" ? "not-found" : "io",
    `${quote(path)} ${what} (${errno || String(cause)})`,
    { path, ...(errno && { errno }) },
    { cause },
  );
}
