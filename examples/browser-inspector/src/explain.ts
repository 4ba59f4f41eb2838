import { type ErrorCode, isTensorjarError, type TensorjarError } from "tensorjar";
import { h } from "./dom.js";
import { printable } from "./text.js";

/** What went wrong, for someone who has the file and not the program: a heading, and what to make of it. */
const meanings: Record<ErrorCode, readonly [title: string, meaning: string]> = {
  "not-this-format": [
    "This is not a file of tensors",
    "It can be read here as .npy, .npz, safetensors or a checkpoint of these; this is something else.",
  ],
  truncated: [
    "The file is cut short",
    "Its end is missing, as after a download that broke off or a disk that was full. Get it again.",
  ],
  "trailing-bytes": [
    "There is more after the end",
    "The file is longer than its header says: two files were joined, or the header was changed.",
  ],
  "limit-exceeded": [
    "Too much at once",
    "It takes more than is safe. Very large files do, and damaged or hostile ones.",
  ],
  "invalid-header": [
    "The header is damaged",
    "What should describe the tensors does not make sense.",
  ],
  "invalid-utf8": ["A name is damaged", "Text in the file is not UTF-8."],
  "invalid-shape": ["A shape is impossible", "The lengths of the axes make no sense."],
  "invalid-dtype": ["An element type is unknown", "The file uses a type that is not known here."],
  "invalid-offsets": [
    "Tensors are not where the header says",
    "Their ranges overlap, leave holes or do not fit their shapes.",
  ],
  "duplicate-name": [
    "A name stands twice",
    "Readers would disagree about which of the two counts, so neither is shown.",
  ],
  "invalid-name": ["A name is not safe", "It could lead outside a folder, or hides something."],
  "invalid-archive": [
    "The archive is damaged",
    "Its directory and its members do not agree, so that readers could see different things.",
  ],
  "checksum-mismatch": [
    "The data is damaged",
    "It is not what was written: bits changed on a disk or on the way.",
  ],
  encrypted: ["The archive is encrypted", "There is no way to give a password here."],
  unsupported: ["This cannot be shown here", "The file may well be whole."],
  "unsupported-version": ["The format is too new", "This page is older than the file."],
  "path-conflict": ["Names are in each other's way", "One name is the start of another."],
  "tree-mismatch": ["The tensors do not fit", "They are not those that were expected."],
  "invalid-checkpoint": [
    "The checkpoint is damaged",
    "Its tensors can be looked at, but a training run could not resume from them.",
  ],
  "not-found": ["It is not there", "The address, the tensor or the shard does not exist."],
  "already-exists": ["It exists already", "Nothing was overwritten."],
  locked: ["It is in use", "Another program holds it."],
  "source-changed": [
    "The file has changed",
    "Something wrote to it since it was opened. Open it again.",
  ],
  http: [
    "The address could not be read",
    "Either the server cannot be reached, or it does not let other sites read it (CORS), or it does not send parts of files (ranges). A file that was downloaded can be opened here.",
  ],
  io: ["The file could not be read", "It may be gone, or not be open to the browser."],
  "invalid-argument": ["That is not possible", "The choice does not fit the tensor."],
};

/** Ways out that only a program can take: by a function, an option or a value of one. */
const forPrograms = /[a-z][A-Z]|[{}]|: (?:true|false|")/;

/** The message of an error, without a way out that nobody has on a page. */
function shownMessage({ message, details: { hint } }: TensorjarError): string {
  if (hint === undefined || !forPrograms.test(hint) || !message.endsWith(`: ${hint}`))
    return message;
  const found = message.slice(0, -`: ${hint}`.length);
  return hint.endsWith("download it") ? `${found}: download it, and open that` : found;
}

/** An error told in words, at once by screen readers too. */
export function errorView(error: unknown, about?: string): HTMLElement {
  const known = isTensorjarError(error) ? error : undefined;
  const [title, meaning] = known
    ? meanings[known.code]
    : ["Something went wrong", "The browser could not do this; there may be too little memory."];
  const message = known
    ? shownMessage(known)
    : String(error instanceof Error ? error.message : error);
  return h(
    "div",
    { role: "alert", class: "error" },
    h("strong", {}, about === undefined ? title : `${printable(about)}: ${title.toLowerCase()}`),
    h("p", {}, meaning),
    h(
      "p",
      { class: "message" },
      ...(known ? [h("code", {}, known.code), " "] : []),
      printable(message),
    ),
  );
}

/** Whether work ended because it was no longer wanted. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
