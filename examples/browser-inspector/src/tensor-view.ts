import { type DType, elementCount, type TensorInfo } from "tensorjar";
import { besides, oneValue } from "./besides.js";
import { h, section } from "./dom.js";
import { type FileKind, fileOf, offer, widens } from "./download.js";
import { errorView, isAbort } from "./explain.js";
import { heatMap } from "./heat-map.js";
import { isNumeric } from "./numbers.js";
import { infoOf, type OpenedFile, type Row } from "./opened-file.js";
import { otherValues } from "./other-values.js";
import { readsByRange } from "./slice.js";
import { atOnce, statisticsView } from "./statistics-view.js";
import { byteText, countText, nameText, shapeText } from "./text.js";

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

function downloads(opened: OpenedFile, row: Row, dtype: string, signal: AbortSignal): HTMLElement {
  const told = h("div", {});
  let busy = false;
  const button = (kind: FileKind): HTMLElement => {
    const wide = kind !== "safetensors" && widens(dtype) ? " (as float32)" : "";
    return h(
      "button",
      {
        type: "button",
        onclick: async () => {
          if (busy) return;
          busy = true;
          told.replaceChildren(h("p", { role: "status" }, "Preparing the file…"));
          try {
            offer(await fileOf(opened, row, kind, signal));
            told.replaceChildren();
          } catch (error) {
            if (!isAbort(error)) told.replaceChildren(errorView(error));
          }
          busy = false;
        },
      },
      `.${kind}${wide}`,
    );
  };
  return h(
    "div",
    {},
    h("div", { class: "buttons" }, button("npy"), button("npz"), button("safetensors")),
    told,
  );
}
