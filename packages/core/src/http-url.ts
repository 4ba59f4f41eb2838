import { describe, quote, TensorjarError } from "./error.js";

/** The URL to ask, absolute. Throws `invalid-argument`. */
export function resolveUrl(url: string | URL): string {
  const given: unknown = url;
  try {
    if (typeof given === "string" || given instanceof URL) {
      const { href, protocol } = new URL(given, globalThis.location?.href);
      if (protocol !== "file:") return href;
    }
  } catch {
    // told below
  }
  throw new TensorjarError(
    "invalid-argument",
    typeof given === "string" || given instanceof URL
      ? `${quote(String(given))} is not the URL of a file on a server`
      : `expected a URL, got ${describe(given)}`,
    { hint: "read a path with fileSource(path)" },
  );
}

/** A signed URL's query and a password stay out of messages and logs. */
export function withoutSecrets(href: string): string {
  const url = new URL(href);
  url.username = "";
  url.password = "";
  url.hash = "";
  if (url.search !== "") url.search = "?...";
  return url.href.length > 300 ? `${url.href.slice(0, 297)}...` : url.href;
}
