import type { TensorjarError } from "tensorjar";
import { disclosed, h, scrolled, table } from "./dom.js";
import { errorView, isAbort } from "./explain.js";
import type { OpenedFile, Row } from "./opened-file.js";
import { progressBar } from "./progress.js";
import { byteText, countText, nameText, printable } from "./text.js";
import { type Verdict, verify } from "./verify.js";

/** What the file is and how it does, its metadata, and the button that reads all of it. */
export function fileView(
  opened: OpenedFile,
  signal: AbortSignal,
  onChoose: (row: Row) => void,
): HTMLElement {
  const { label, checkpoint, checkpointFault } = opened;
  return h(
    "section",
    { class: "file", "aria-labelledby": "file-name" },
    h("h2", { id: "file-name", tabindex: -1 }, printable(label.replace(/^.*\//s, "") || label)),
    h("p", { class: "facts" }, ...facts(opened).map((text) => h("span", {}, text))),
    ...(opened.sentWhole()
      ? [
          h(
            "p",
            { class: "warning" },
            "This server does not send parts of files (ranges), so the whole file was fetched.",
          ),
        ]
      : []),
    health(opened, signal, onChoose),
    ...(checkpointFault === undefined ? [] : [errorView(checkpointFault)]),
    ...(checkpoint === undefined ? [] : [checkpointView(checkpoint)]),
    ...details(opened),
  );
}

const kinds = {
  npy: "NumPy array (.npy)",
  npz: "NumPy archive (.npz)",
  safetensors: "safetensors",
  sharded: "sharded safetensors",
} as const;

function facts({ opened, size, rows, checkpoint, remote }: OpenedFile): string[] {
  const kind = kinds[opened.kind];
  return [
    checkpoint === undefined ? kind : `training checkpoint, ${kind}`,
    ...(size === undefined ? [] : [byteText(size)]),
    countText(rows.length, opened.kind === "npy" || opened.kind === "npz" ? "array" : "tensor"),
    ...(remote ? ["read by ranges from the server"] : []),
  ];
}

/** What was checked when it was opened, how much was read, and the check of all the rest. */
function health(
  opened: OpenedFile,
  signal: AbortSignal,
  onChoose: (row: Row) => void,
): HTMLElement {
  const { meter, size } = opened;
  const read = h("span", { "data-read": "" });
  const tell = (): void => {
    read.dataset["read"] = String(meter.bytes);
    const whole = size === undefined || meter.bytes > size ? "" : ` of ${byteText(size)}`;
    read.textContent = `Read so far: ${byteText(meter.bytes)}${whole}.`;
  };
  signal.addEventListener("abort", meter.watch(tell));
  tell();
  const verdict = h("div", { role: "status" });
  const button = h("button", { type: "button", onclick: () => void start() }, verifyText(opened));

  const start = async (): Promise<void> => {
    const stopping = new AbortController();
    const bar = progressBar("Reading", () => stopping.abort());
    button.hidden = true;
    verdict.replaceChildren();
    button.after(bar.element);
    try {
      const ending = AbortSignal.any([stopping.signal, signal]);
      verdict.replaceChildren(verdictView(opened, await verify(opened, ending, bar.set), onChoose));
    } catch (error) {
      verdict.replaceChildren(
        isAbort(error) ? h("p", {}, "Verifying was cancelled.") : errorView(error),
      );
    }
    const focused = bar.element.contains(document.activeElement);
    bar.element.remove();
    button.hidden = false;
    if (focused) button.focus();
  };

  return h(
    "div",
    { class: "health" },
    h("p", {}, h("span", { class: "good" }, "✓ "), checkedText(opened), " ", read),
    button,
    verdict,
  );
}

/** Says what it takes where that is much. */
function verifyText({ size = 0, remote }: OpenedFile): string {
  return remote || size > 64 << 20 ? `Verify all (reads ${byteText(size)})` : "Verify all";
}

function checkedText({ opened }: OpenedFile): string {
  switch (opened.kind) {
    case "npy":
      return "The header was checked: it fits the size of the file.";
    case "npz":
      return "The directory of the archive was checked; each array is compared with its checksum when it is read.";
    case "sharded":
      return "The index was checked; the header of each shard is when one of its tensors is looked at.";
    case "safetensors":
      return "The header was checked: every tensor lies where it should, and the file has its full size.";
  }
}

function verdictView(
  opened: OpenedFile,
  { faults, notFinite, readable }: Verdict,
  onChoose: (row: Row) => void,
): HTMLElement {
  const sums = opened.opened.kind === "npz" || opened.checkpoint !== undefined;
  const good = sums
    ? "All of the file was read, and every checksum fits."
    : "All of the file was read. This format has no checksums, so changed bits cannot be told.";
  const link = (name: string): HTMLElement => {
    const row = opened.rows.find((other) => other.name === name);
    if (row === undefined) return h("span", {}, nameText(name));
    const onclick = (): void => onChoose(row);
    return h("button", { type: "button", class: "link", onclick }, nameText(name));
  };
  const most = 20;
  const told = alike(faults);
  const shownNumbers = notFinite.slice(0, most);
  const more = (count: number): Node[] =>
    count > most ? [h("li", {}, `and ${(count - most).toLocaleString("en")} more`)] : [];
  return h(
    "div",
    {},
    ...(faults.length === 0 ? [h("p", {}, h("span", { class: "good" }, "✓ "), good)] : []),
    ...told.slice(0, most).map(([about, error]) => errorView(error, about)),
    ...(told.length > most ? [h("p", {}, `${told.length - most} more are damaged.`)] : []),
    ...(readable > 0 && notFinite.length === 0
      ? [h("p", {}, h("span", { class: "good" }, "✓ "), "No NaN and no infinity in what was read.")]
      : []),
    ...(notFinite.length === 0
      ? []
      : [
          h(
            "p",
            { class: "warning" },
            `${countText(notFinite.length, "tensor")} with NaN or infinity:`,
          ),
          h(
            "ul",
            {},
            ...shownNumbers.map(([name, count]) =>
              h("li", {}, link(name), `: ${countText(count, "number")}`),
            ),
            ...more(notFinite.length),
          ),
        ]),
  );
}

/** Faults of one cause together, such as all tensors of a shard that is not there; each with what it is about. */
function alike(
  faults: Verdict["faults"],
): (readonly [about: string | undefined, error: TensorjarError])[] {
  const groups = new Map<string, [names: string[], error: TensorjarError]>();
  for (const [name, error] of faults) {
    const group = groups.get(error.message);
    if (group === undefined) groups.set(error.message, [[name], error]);
    else group[0].push(name);
  }
  return Array.from(groups.values(), ([[name = "", ...others], error]) => {
    const more = others.length === 0 ? "" : ` and ${others.length.toLocaleString("en")} more`;
    return [name === "" ? undefined : name + more, error];
  });
}

function checkpointView({
  version,
  step,
  params,
  optimizers,
  config,
  metrics,
}: NonNullable<OpenedFile["checkpoint"]>): HTMLElement {
  const pairs: [string, string][] = [
    ["step", step.toLocaleString("en")],
    ["parameters", params.size.toLocaleString("en")],
    ["optimizers", optimizers.join(", ") || "none"],
    ["schema", `version ${version}`],
    ...Object.entries(metrics ?? {}).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]),
  ];
  return h(
    "div",
    {},
    h(
      "dl",
      { class: "numbers" },
      ...pairs.map(([name, value]) =>
        h("div", {}, h("dt", {}, printable(name)), h("dd", {}, printable(value))),
      ),
    ),
    disclosed("Configuration", () =>
      scrolled("Configuration", h("pre", {}, JSON.stringify(config, undefined, 2))),
    ),
  );
}

/** Metadata, element types and the other members of an archive; each opens on demand. */
function details({ opened, rows }: OpenedFile): HTMLElement[] {
  const parts: HTMLElement[] = [];
  const { metadata } = opened.file;
  if (metadata.size > 0) {
    parts.push(
      disclosed(`Metadata (${metadata.size})`, () => {
        const pairs = Array.from(metadata, ([key, value]) => [
          h("dt", {}, printable(key)),
          h("dd", {}, h("pre", {}, shownValue(value))),
        ]);
        return scrolled("Metadata", h("dl", { class: "metadata" }, ...pairs.flat()));
      }),
    );
  }
  if (opened.kind === "npy") {
    const { version, descr, fortranOrder, dataOffset } = opened.file.header;
    parts.push(
      disclosed("Header", () =>
        scrolled(
          "Header",
          table(
            "Header",
            ["Field", "Value"],
            [
              ["version", version.join(".")],
              ["descr", printable(descr)],
              ["fortran_order", fortranOrder ? "True" : "False"],
              ["data starts at byte", String(dataOffset)],
            ],
          ),
        ),
      ),
    );
  }
  if (opened.kind === "npz") {
    const { members } = opened.file;
    parts.push(
      disclosed(`Members of the archive (${members.length})`, () =>
        scrolled(
          "Members",
          table(
            members.length > mostMembers ? `The first ${mostMembers} members` : "Members",
            ["Name", "Size", "In the archive", "Method", "CRC-32"],
            members
              .slice(0, mostMembers)
              .map(({ name, size, compressedSize, method, crc32 }) => [
                printable(name),
                byteText(size),
                byteText(compressedSize),
                String(method),
                crc32.toString(16).padStart(8, "0"),
              ]),
          ),
        ),
      ),
    );
  }
  if (rows.length > 1) {
    parts.push(disclosed("Element types", () => scrolled("Element types", dtypeTable(rows))));
  }
  return parts;
}

const mostMembers = 1000;
const mostCharacters = 100_000;

function shownValue(value: string): string {
  const text = value.length > mostCharacters ? `${value.slice(0, mostCharacters)}…` : value;
  // Lines are kept; what else steers a text is shown.
  return text.split("\n").map(printable).join("\n");
}

function dtypeTable(rows: readonly Row[]): HTMLElement {
  const totals = new Map<string, [count: number, bytes: number]>();
  for (const { info } of rows) {
    const total = totals.get(info?.dtype ?? "not read yet") ?? [0, 0];
    total[0] += 1;
    total[1] += info?.byteLength ?? 0;
    totals.set(info?.dtype ?? "not read yet", total);
  }
  return table(
    "Tensors of each element type",
    ["Type", "Tensors", "Size"],
    Array.from(totals, ([dtype, [count, bytes]]) => [
      dtype,
      count.toLocaleString("en"),
      byteText(bytes),
    ]),
  );
}
