import { type Json, readJson } from "./json.js";
import { checkJson } from "./json-check.js";

export interface ReadRules {
  /** Whether every number must be one that can be written. */
  finite?: boolean;
}

/**
 * The value of JSON text that a file holds as `name`, frozen. Throws `invalid-checkpoint` with the position of the
 * fault, which a number past the range of doubles is too where all must be `finite`, since it could not be written
 * again; and `limit-exceeded` for more levels than are written.
 */
export function parseJson(text: string, name: string, { finite = false }: ReadRules = {}): Json {
  const json = readJson(text, finite);
  if (json !== undefined) return json;
  checkJson(text, name, finite);
  return JSON.parse(text); // throws what the engine has against it, if not the text
}
