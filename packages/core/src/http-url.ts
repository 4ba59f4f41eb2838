import { describe, quote, TensorjarError } from "./error.js";

/** The URL to ask, absolute: as `fetch` makes it, which heeds the page's `<base>`. Throws `invalid-argument`. */
export function resolveUrl(url: string | URL): string {
  const given: unknown = url;
  try {
    if (typeof given === "string" || given instanceof URL) {
      const base = globalThis.document?.baseURI ?? globalThis.location?.href; // a worker has no document
      const { href, protocol } = new URL(given, base);
      if (protocol !== "file:") return href;
    }
  } catch {
    // told below
  }
  throw new TensorjarError(
    "invalid-argument",
    typeof given === "string" || given instanceof URL
      ? `${quote(withoutSecrets(String(given)))} is not the URL of a file on a server`
      : `expected a URL, got ${describe(given)}`,
    { hint: "read a path with fileSource(path)" },
  );
}

/** A URL as messages and logs may show it: without a password, a signed query, a fragment, and no longer than a line. */
export function withoutSecrets(url: string): string {
  const shown = url
    .replace(/^([a-z][a-z\d+.-]*:)[/\\]*[^/\\?#]*@/i, "$1//")
    .replace(/[?#].*/s, (hidden) => (hidden.startsWith("?") ? "?..." : ""));
  return shown.length > 300 ? `${shown.slice(0, 297)}...` : shown;
}

/** A text of somebody else's, with the URLs in it as {@link withoutSecrets} shows them. */
export function textWithoutSecrets(text: string): string {
  return text.replace(/(https?:|[a-z][a-z\d+.-]*:\/\/)[^\s"<>]+/gi, (url) => withoutSecrets(url));
}

/** What was thrown about a URL: itself, or where its message, a property or a cause of it holds secrets, an error without. */
export function errorWithoutSecrets(thrown: unknown, depth = 0): unknown {
  if (typeof thrown === "string") return textWithoutSecrets(thrown);
  const error: Partial<Error> & { code?: unknown } = Object(thrown); // also of another realm
  const { name, message, cause, code } = error;
  if (typeof message !== "string") return thrown;
  const innocent = depth < 8 ? errorWithoutSecrets(cause, depth + 1) : undefined; // causes may go round in a ring
  const tells = (value: unknown): boolean =>
    typeof value === "string" && textWithoutSecrets(value) !== value;
  const told = Object.entries(error).some(([key, value]) => key !== "stack" && tells(value));
  if (!told && !tells(message) && innocent === cause) return thrown;
  const shown = new Error(textWithoutSecrets(message), { cause: innocent });
  return Object.assign(shown, { name }, code !== undefined && { code });
}
