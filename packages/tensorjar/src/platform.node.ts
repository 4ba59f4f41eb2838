import { dirname, join } from "node:path";
import { httpSource } from "@tensorjar/core";
import { fileSource } from "@tensorjar/core/node";
import type { Beside, OpenText } from "./platform.js";

export { folderStore } from "@tensorjar/checkpoint/node";
export { fileSink, fileSource } from "@tensorjar/core/node";

/** Node, Bun and Deno: `http:` and `https:` are URLs, `file:` URLs and all other strings are paths. */
export const openText: OpenText = (text, signal) =>
  /^https?:/i.test(text)
    ? httpSource(text, signal === undefined ? {} : { signal })
    : fileSource(text);

/** Beside a URL by its rules, beside a path by the system's. */
export const beside: Beside = (text, file) =>
  /^(https?|file):/i.test(text)
    ? new URL(encodeURIComponent(file), text).href
    : join(dirname(text), file);
