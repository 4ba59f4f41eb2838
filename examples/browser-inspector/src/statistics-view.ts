import { type DType, dtypeInfo, type TensorInfo } from "tensorjar";
import { h } from "./dom.js";
import { errorView, isAbort } from "./explain.js";
import { histogram } from "./histogram.js";
import { arraysOf, type OpenedFile, type Row } from "./opened-file.js";
import { progressBar } from "./progress.js";
import { type Statistics, statistics } from "./statistics.js";
import { byteText, countText, nameText, numberText } from "./text.js";

/** Bytes that are read without asking. */
const unasked = { here: 64 << 20, remote: 4 << 20 } as const;

/** How much of a file is read without asking, in bytes. */
export const atOnce = ({ remote }: OpenedFile): number => unasked[remote ? "remote" : "here"];

/** Statistics with their histogram: at once where little is to be read, on demand otherwise. */
export function statisticsView(
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
      "div",
      { class: "buttons" },
      h(
        "button",
        { type: "button", onclick: () => void start() },
        `Compute (reads ${byteText(info.byteLength)}${twice}${from})`,
      ),
      h("span", { class: "quiet" }, "Of a large tensor they are computed only when asked for."),
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
