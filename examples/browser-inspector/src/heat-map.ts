import type { DType, TensorInfo } from "tensorjar";
import { colourScale, legend, paint } from "./colours.js";
import { h, newId, scrolled, table } from "./dom.js";
import { errorView, isAbort } from "./explain.js";
import type { OpenedFile } from "./opened-file.js";
import { readSlice, type Slice, type View } from "./slice.js";
import { type Controls, sliceControls, zoomed } from "./slice-controls.js";
import { numberText } from "./text.js";

/** Rows and columns that stand in the table of values. */
const tableRows = 16;
const tableColumns = 8;
/** Any 2-D slice of a tensor in colours, with a cursor that says the number under it; only the slice is read. */
export function heatMap(
  opened: OpenedFile,
  name: string,
  info: TensorInfo & { dtype: DType },
  signal: AbortSignal,
): HTMLElement {
  const picture = h("div", {});
  let reading: AbortController | undefined;

  const show = async (view: View): Promise<void> => {
    reading?.abort();
    const mine = new AbortController();
    reading = mine;
    picture.setAttribute("aria-busy", "true");
    try {
      const ending = AbortSignal.any([mine.signal, signal]);
      const slice = await readSlice(opened, name, info, view, ending);
      ending.throwIfAborted();
      const inside = picture.contains(document.activeElement);
      picture.replaceChildren(painted(slice, view, info.dtype, controls));
      if (inside) picture.querySelector<HTMLElement>(".map")?.focus();
    } catch (error) {
      if (isAbort(error)) return;
      picture.replaceChildren(errorView(error));
    }
    picture.removeAttribute("aria-busy");
  };

  const controls = sliceControls(info.shape, (view) => void show(view));
  void show(controls.view());
  return h("div", { class: "heat-map" }, controls.element, picture);
}

/** The picture of a slice, with its legend, its cursor and its values as a table. */
function painted(slice: Slice, view: View, dtype: DType, controls: Controls): HTMLElement {
  const { rows, columns, values, exact } = slice;
  if (values.length === 0) return h("p", { class: "quiet" }, "There are no numbers in this slice.");
  const scale = colourScale(values);
  const canvas = paint(slice, scale);

  const textAt = (row: number, column: number): string => {
    const at = row * columns.length + column;
    return numberText(exact?.[at] ?? values[at] ?? Number.NaN);
  };
  /** The index of a cell on every axis. */
  const place = (row: number, column: number): string => {
    const index = [...view.fixed];
    if (view.rows !== undefined) index[view.rows.axis] = rows[row] ?? 0;
    if (view.columns !== undefined) index[view.columns.axis] = columns[column] ?? 0;
    return `[${index.join(", ")}]`;
  };
  /** Where an index stands among those that are shown, or the nearest below it does. */
  const nearest = (indices: readonly number[], axis = -1): number =>
    Math.max(0, indices.filter((index) => index <= (view.fixed[axis] ?? 0)).length - 1);
  let row = nearest(rows, view.rows?.axis);
  let column = nearest(columns, view.columns?.axis);

  const cursor = h("div", { class: "cursor" });
  cursor.style.width = `${100 / columns.length}%`;
  cursor.style.height = `${100 / rows.length}%`;
  const readout = h("output", {});
  const described = newId();
  const content = h("div", {});
  const values2d = h("details", {}, h("summary", {}, "Values as a table"), content);

  const fillTable = (): void => {
    if (!values2d.open) return;
    const top = Math.min(row, Math.max(0, rows.length - tableRows));
    const left = Math.min(column, Math.max(0, columns.length - tableColumns));
    const shown = columns.slice(left, left + tableColumns);
    const body = rows
      .slice(top, top + tableRows)
      .map((index, i) => [String(index), ...shown.map((_, j) => textAt(top + i, left + j))]);
    const caption = "Values from the cursor on";
    content.replaceChildren(scrolled(caption, table(caption, ["Row", ...shown.map(String)], body)));
  };
  values2d.addEventListener("toggle", fillTable);

  const move = (toRow: number, toColumn: number): void => {
    row = Math.max(0, Math.min(rows.length - 1, toRow));
    column = Math.max(0, Math.min(columns.length - 1, toColumn));
    if (view.rows !== undefined) controls.point(view.rows.axis, rows[row] ?? 0);
    if (view.columns !== undefined) controls.point(view.columns.axis, columns[column] ?? 0);
    cursor.style.left = `${(100 * column) / columns.length}%`;
    cursor.style.top = `${(100 * row) / rows.length}%`;
    readout.textContent = `${place(row, column)} = ${textAt(row, column)}`;
    fillTable();
  };

  const map = h(
    "div",
    {
      class: "map",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label": "Heat map: arrow keys move the cursor, with Shift by ten",
      "aria-describedby": described,
      onkeydown: (event: KeyboardEvent) => {
        const far = event.shiftKey ? 10 : 1;
        const to = {
          ArrowLeft: [row, column - far],
          ArrowRight: [row, column + far],
          ArrowUp: [row - far, column],
          ArrowDown: [row + far, column],
          Home: [row, 0],
          End: [row, columns.length - 1],
          PageUp: [0, column],
          PageDown: [rows.length - 1, column],
        }[event.key];
        if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        if (busy()) return;
        move(to[0] ?? 0, to[1] ?? 0);
      },
      onpointermove: (event: PointerEvent) => point(event),
      onpointerdown: (event: PointerEvent) => point(event),
    },
    canvas,
    cursor,
  );
  /** Whether another slice is being read, whose form this cursor must not touch. */
  const busy = (): boolean => map.closest("[aria-busy]") !== null;
  const point = (event: PointerEvent): void => {
    if (busy()) return;
    const box = map.getBoundingClientRect();
    move(
      Math.floor(((event.clientY - box.top) / box.height) * rows.length),
      Math.floor(((event.clientX - box.left) / box.width) * columns.length),
    );
  };
  const shape = size(rows.length, columns.length);
  map.style.maxWidth = `${shape.width}px`;
  map.style.aspectRatio = `${shape.width} / ${shape.height}`;
  move(row, column);

  const parts = [
    ...(view.rows === undefined ? [] : [sampledText("Rows", rows)]),
    sampledText(view.rows === undefined ? "Indices" : "columns", columns),
    scale.low <= scale.high
      ? `values from ${numberText(scale.low)} to ${numberText(scale.high)}`
      : "no finite number",
    ...(dtype.startsWith("complex") ? ["magnitudes of complex numbers"] : []),
  ];
  const zooms = rows.length > zoomed || columns.length > zoomed;
  return h(
    "div",
    {},
    h("p", { class: "quiet", id: described }, `${parts.join("; ")}.`),
    map,
    h(
      "div",
      { class: "under" },
      readout,
      ...(zooms
        ? [h("button", { type: "button", onclick: () => controls.zoom() }, "Zoom to the cursor")]
        : []),
    ),
    legend(scale),
    values2d,
  );
}

/** Which indices of an axis are shown: `Rows 0 to 4080 in steps of 16`. */
function sampledText(what: string, indices: readonly number[]): string {
  const [first = 0, second = first + 1] = indices;
  const step = second - first;
  return `${what} ${first} to ${indices.at(-1) ?? first}${step === 1 ? "" : ` in steps of ${step}`}`;
}

/** Pixels that a picture takes at most: square cells, unless one side would be too long. */
function size(rows: number, columns: number): { width: number; height: number } {
  const side = (cells: number, most: number): number =>
    Math.max(2, Math.min(most, Math.floor(640 / cells)));
  const width = side(columns, 48);
  return { width: columns * width, height: rows * side(rows, width) };
}
