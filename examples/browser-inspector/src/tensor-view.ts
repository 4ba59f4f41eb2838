import { type DType, dtypeInfo, elementCount, type TensorInfo, toNested } from "tensorjar";
import { h } from "./dom.js";
import { type FileKind, fileOf, offer, widens } from "./download.js";
import { errorView, isAbort } from "./explain.js";
import { heatMap } from "./heat-map.js";
import { histogram } from "./histogram.js";
import { isNumeric } from "./numbers.js";
import { arraysOf, infoOf, type OpenedFile, type Row } from "./opened-file.js";
import { otherValues } from "./other-values.js";
import { readsByRange } from "./slice.js";
import { type Statistics, statistics } from "./statistics.js";
import {
  byteText,
  countText,
  nameText,
  numberText,
  printable,
  shapeText,
  valueText,
} from "./text.js";

/** Bytes that are read without asking. */
const unasked = { here: 64 << 20, remote: 4 << 20 } as const;

const atOnce = ({ remote }: OpenedFile): number => unasked[remote ? "remote" : "here"];

/** Everything about one tensor; work on it ends when `signal` is aborted. */
export async function tensorView(
  opened: OpenedFile,
  row: Row,
  signal: AbortSignal,
  onChoose: (row: Row) => void,
): Promise<HTMLElement> {
  const heading = h("h2", { tabindex: -1, id: "tensor-name" }, nameText(row.name));
  const element = h("article", { "aria-labelledby": "tensor-name" }, heading);
  let info: TensorInfo;
  try {
    info = await infoOf(opened, row);
  } catch (error) {
    element.append(errorView(error));
    return element;
  }
  const { dtype, shape, byteLength } = info;
  const count = elementCount(shape);
  element.append(
    h(
      "p",
      { class: "facts" },
      ...[dtype, shapeText(shape), countText(count, "element"), byteText(byteLength)].map((text) =>
        h("span", {}, text),
      ),
    ),
  );
  if (isNumeric(dtype)) {
    const numeric = { ...info, dtype };
    const scalar = count === 1;
    if (scalar) element.append(await oneValue(opened, row, signal));
    else if (count > 0) {
      element.append(
        section("Statistics", statisticsView(opened, row, numeric, signal)),
        section("Heat map", heatMapView(opened, row, numeric, signal)),
      );
    }
    element.append(...besides(opened, row, signal, onChoose));
  } else if (count > 0) {
    element.append(section("Values", await otherValues(opened, row, info, signal)));
  }
  element.append(section("Download", downloads(opened, row, dtype, signal)));
  return element;
}

function section(title: string, ...content: readonly Node[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), ...content);
}

async function oneValue(opened: OpenedFile, row: Row, signal: AbortSignal): Promise<HTMLElement> {
  try {
    const array = await opened.opened.file.get(row.name, { signal });
    return h("p", { class: "value" }, valueText(toNested({ ...array, shape: [] })));
  } catch (error) {
    return errorView(error);
  }
}

/** The heat map, on demand where a large tensor must be read up to the slice. */
function heatMapView(
  opened: OpenedFile,
  row: Row,
  info: TensorInfo & { dtype: DType },
  signal: AbortSignal,
): HTMLElement {
  const map = (): HTMLElement => heatMap(opened, row.name, info, signal);
  if (readsByRange(opened) || info.byteLength <= atOnce(opened)) return map();
  const place = h("div", {});
  const show = (): void => place.replaceChildren(map());
  place.append(
    h(
      "button",
      { type: "button", onclick: show },
      `Show (reads up to ${byteText(info.byteLength)})`,
    ),
  );
  return place;
}

/** Statistics with their histogram: at once where little is to be read, on demand otherwise. */
function statisticsView(
  opened: OpenedFile,
  row: Row,
  info: TensorInfo & { dtype: DType },
  signal: AbortSignal,
  small = false,
): HTMLElement {
  const place = h("div", { class: "statistics" });
  const start = async (): Promise<void> => {
    const stopping = new AbortController();
    const ending = AbortSignal.any([stopping.signal, signal]);
    const bar = progressBar("Reading", () => stopping.abort());
    place.replaceChildren(bar.element);
    try {
      const found = await statistics(arraysOf(opened), row.name, info, ending, bar.set);
      place.replaceChildren(
        statisticsTable(found, info.dtype, small),
        ...(found.histogram.length > 0 ? [histogram(nameText(row.name), found, small)] : []),
      );
    } catch (error) {
      place.replaceChildren(isAbort(error) ? offered() : errorView(error));
    }
  };
  const offered = (): HTMLElement => {
    const twice = info.byteLength > unasked.here ? ", twice" : "";
    const from = opened.remote ? " from the server" : "";
    return h(
      "button",
      { type: "button", onclick: () => void start() },
      `Compute (reads ${byteText(info.byteLength)}${twice}${from})`,
    );
  };
  if (info.byteLength <= atOnce(opened)) void start();
  else place.append(offered());
  return place;
}

function statisticsTable(found: Statistics, dtype: DType, small: boolean): HTMLElement {
  const number = (value: number | bigint | undefined): string =>
    value === undefined ? "none" : numberText(value);
  const facts: [string, string][] = [
    ["min", number(found.min)],
    ["max", number(found.max)],
    ["mean", number(found.mean)],
    ["deviation", number(found.deviation)],
    ["zeros", found.zeros.toLocaleString("en")],
  ];
  if (/float|complex/.test(dtype) && !small) {
    facts.push(["NaN", found.nans.toLocaleString("en")]);
    facts.push(["infinite", found.infinities.toLocaleString("en")]);
  }
  const bad = found.nans + found.infinities;
  return h(
    "div",
    {},
    h(
      "dl",
      { class: "numbers" },
      ...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
    ...(bad > 0
      ? [
          h(
            "p",
            { class: "warning" },
            `${countText(bad, "number")} of ${found.count.toLocaleString("en")} ${bad === 1 ? "is" : "are"} NaN or infinite.`,
          ),
        ]
      : []),
    ...(dtypeInfo(dtype).components === 2
      ? [h("p", { class: "quiet" }, "Real and imaginary parts count as numbers of their own.")]
      : []),
  );
}

/** In a checkpoint: the parameter, its moments and its step, whichever of them `row` is not. */
function besides(
  opened: OpenedFile,
  row: Row,
  signal: AbortSignal,
  onChoose: (row: Row) => void,
): HTMLElement[] {
  const { place } = row;
  if (place === undefined) return [];
  const others = opened.rows.filter((other) => other !== row && other.place?.path === place.path);
  if (others.length === 0) return [];
  const title =
    place.slot === undefined
      ? "Optimizer state of this parameter"
      : `Beside it: ${printable(place.path)}`;
  return [
    section(
      title,
      h("div", { class: "cards" }, ...others.map((other) => card(opened, other, signal, onChoose))),
    ),
  ];
}

function card(
  opened: OpenedFile,
  row: Row,
  signal: AbortSignal,
  onChoose: (row: Row) => void,
): HTMLElement {
  const { slot, optimizer } = row.place ?? {};
  const title = slot === undefined ? "parameter" : `${slot} (${optimizer})`;
  const body = h("div", {});
  const fill = async (): Promise<void> => {
    try {
      const info = await infoOf(opened, row);
      const { dtype, shape } = info;
      if (!isNumeric(dtype)) return;
      const scalar = elementCount(shape) === 1;
      body.append(
        h("p", { class: "quiet" }, `${dtype}, ${shapeText(shape)}`),
        scalar
          ? await oneValue(opened, row, signal)
          : statisticsView(opened, row, { ...info, dtype }, signal, true),
      );
    } catch (error) {
      if (!isAbort(error)) body.append(errorView(error));
    }
  };
  void fill();
  return h(
    "div",
    { class: "card" },
    h(
      "h4",
      {},
      h(
        "button",
        { type: "button", class: "link", onclick: () => onChoose(row) },
        printable(title),
      ),
    ),
    body,
  );
}

function downloads(opened: OpenedFile, row: Row, dtype: string, signal: AbortSignal): HTMLElement {
  const told = h("div", {});
  const button = (kind: FileKind): HTMLElement => {
    const wide = kind !== "safetensors" && widens(dtype) ? " (as float32)" : "";
    const element = h(
      "button",
      {
        type: "button",
        onclick: async () => {
          element.setAttribute("aria-disabled", "true");
          told.replaceChildren();
          try {
            offer(await fileOf(opened, row, kind, signal));
          } catch (error) {
            if (!isAbort(error)) told.replaceChildren(errorView(error));
          }
          element.removeAttribute("aria-disabled");
        },
      },
      `.${kind}${wide}`,
    );
    return element;
  };
  return h(
    "div",
    {},
    h("div", { class: "buttons" }, button("npy"), button("npz"), button("safetensors")),
    told,
  );
}

/** A bar for work that takes a while, with a button that ends it. */
export function progressBar(
  label: string,
  onCancel: () => void,
): { element: HTMLElement; set(part: number, text?: string): void } {
  const bar = h("progress", { max: 1, value: 0, "aria-label": label });
  const text = h("span", { class: "quiet" }, label);
  return {
    element: h(
      "div",
      { class: "progress" },
      bar,
      text,
      h("button", { type: "button", onclick: onCancel }, "Cancel"),
    ),
    set(part, name) {
      bar.value = part;
      text.textContent = `${Math.floor(part * 100)} %${name === undefined ? "" : `, ${nameText(name)}`}`;
    },
  };
}
