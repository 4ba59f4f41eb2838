import Table from "cli-table3";
import pc from "picocolors";
import { isTensorjarError, type TensorjarError } from "tensorjar";

/** Bytes in binary units: `1.50 MiB`. */
export function byteText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes;
  let unit = -1;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(value < 10 ? 2 : 1)} ${["KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(", ")}]`;
}

/** A number in at most about ten characters. */
export function numberText(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isInteger(value)) {
    const text = String(value);
    if (text.length <= 12 || typeof value === "bigint") return text;
  }
  return String(Number(value.toPrecision(5)));
}

/** What a file says, fit for a terminal: control characters are shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Rows that are laid out at once: cli-table3 compares each row with all before it. */
const sliceRows = 100;

/** Columns without rules, under a head in bold; those in `right` are aligned to the right. */
export function tableText(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[],
): string {
  // The head is as wide as the widest cell, so that every slice has columns of the same width.
  const widths = head.map(widthOf);
  for (const row of rows)
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, widthOf(cell));
    });
  const wideHead = head.map((text, i) => {
    const space = " ".repeat(Math.max(0, (widths[i] ?? 0) - widthOf(text)));
    return right.includes(i) ? space + pc.bold(text) : pc.bold(text) + space;
  });
  const lines: string[] = [];
  for (let start = 0; start === 0 || start < rows.length; start += sliceRows) {
    const table = new Table({
      head: wideHead,
      chars: noRules,
      style: { "padding-left": 0, "padding-right": 0, head: [], border: [] },
      colAligns: head.map((_, column) => (right.includes(column) ? "right" : "left")),
    });
    for (const row of rows.slice(start, start + sliceRows)) table.push([...row]);
    const [first = "", ...others] = table.toString().split("\n");
    if (start === 0) lines.push(first.trimEnd());
    for (const line of others) lines.push(line.trimEnd());
  }
  return lines.join("\n");
}

const noRules = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
};

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Emoji_Presentation}/u;

/** Columns of a terminal that a text without control characters takes. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text)
    width += wide.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1;
  return width;
}

/** Prints `value` as JSON; 64-bit integers become numbers where they are exact and text where they are not. */
export function printJson(value: unknown): void {
  console.log(
    JSON.stringify(
      value,
      (_, part: unknown) => {
        if (typeof part === "bigint")
          return Number.isSafeInteger(Number(part)) ? Number(part) : String(part);
        if (typeof part === "number" && !Number.isFinite(part)) return String(part);
        return part instanceof Map ? Object.fromEntries(part) : part;
      },
      2,
    ),
  );
}

/** How many members of an archive are no arrays, as what follows other words; nothing when there are none. */
export function othersText({ length }: readonly unknown[]): string {
  return length === 0 ? "" : `, ${countText(length, "other member")}`;
}

/** How many there are of something. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Ways out that only a program can take: by a function, an option or a value of one. */
const forPrograms = /[a-z][A-Z]|[{}]|: (?:true|false|")/;

/** What is said at a shell in place of some ways out. */
const atShell: readonly (readonly [RegExp, string])[] = [
  [/cast it to/, "convert to .safetensors"],
  [/Authorization|maxBody/, "download it, and name the file"],
  [/verify: false/, "the file is damaged"],
  [/give the bytes/, "save it to a file, and name that"],
  [/in a browser/, "check the address and the network"],
  [/^open it again/, "run the command again when nothing writes to it"],
];

/** What an error says to someone at a shell, who has commands and no functions. */
export function errorText(error: TensorjarError): string {
  const { message } = error;
  const hint = hintOf(error);
  if (hint === undefined || !message.endsWith(`: ${hint}`)) return message;
  const told = atShell.find(([words]) => words.test(hint))?.[1];
  if (told === undefined && !forPrograms.test(hint)) return message;
  const found = message.slice(0, -`: ${hint}`.length);
  return told === undefined ? found : `${found}: ${told}`;
}

/** The way out that a message ends with; of a member's error the one beneath it has that. */
function hintOf({ details, cause }: TensorjarError): string | undefined {
  return details.hint ?? (isTensorjarError(cause) ? hintOf(cause) : undefined);
}
