import { elementCount, toNested } from "tensorjar";
import { h, section } from "./dom.js";
import { errorView, isAbort } from "./explain.js";
import { isNumeric } from "./numbers.js";
import { infoOf, type OpenedFile, type Row } from "./opened-file.js";
import { statisticsView } from "./statistics-view.js";
import { printable, shapeText, valueText } from "./text.js";

/** In a checkpoint: the parameter, its moments and its step, whichever of them `row` is not. */
export function besides(
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

/** The value of an array that has just one. */
export async function oneValue(
  opened: OpenedFile,
  row: Row,
  signal: AbortSignal,
): Promise<HTMLElement> {
  try {
    const array = await opened.opened.file.get(row.name, { signal });
    return h("p", { class: "value" }, valueText(toNested({ ...array, shape: [] })));
  } catch (error) {
    return errorView(error);
  }
}
