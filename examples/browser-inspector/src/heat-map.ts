import { interpolateRdBu, interpolateViridis } from "d3-scale-chromatic";
import type { DType, TensorInfo } from "tensorjar";
import { h, newId, scrolled, table } from "./dom.js";
import { errorView, isAbort } from "./explain.js";
import type { OpenedFile } from "./opened-file.js";
import { readSlice, type Slice, type Span, type View, wholeView } from "./slice.js";
import { numberText } from "./text.js";

/** Rows and columns that stand in the table of values. */
const tableRows = 16;
const tableColumns = 8;
/** Cells along an axis after zooming in. */
const zoomed = 32;

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
      picture.replaceChildren(painted(slice, view, info.dtype, controls.zoom));
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

interface Controls {
  readonly element: HTMLElement;
  view(): View;
  /** Narrows the view to what lies around two indices. */
  zoom(row: number, column: number): void;
}

/** Which axes are shown and which index of the others, as a form. */
function sliceControls(shape: readonly number[], onChange: (view: View) => void): Controls {
  const whole = wholeView(shape);
  let rowAxis = whole.rows?.axis;
  let columnAxis = whole.columns?.axis;
  const fixed = [...whole.fixed];
  const spans = shape.map((length, axis): Span => ({ axis, start: 0, stop: length }));
  const view = (): View => ({
    rows: rowAxis === undefined ? undefined : spans[rowAxis],
    columns: columnAxis === undefined ? undefined : spans[columnAxis],
    fixed,
  });
  const element = h("div", { class: "controls", role: "group", "aria-label": "Slice" });

  const changed = (): void => {
    draw();
    onChange(view());
  };

  const axisChoice = (
    label: string,
    chosen: number,
    onPick: (axis: number) => void,
  ): HTMLElement => {
    const select = h(
      "select",
      { "data-key": label, onchange: () => onPick(Number(select.value)) },
      ...shape.map((length, axis) =>
        h("option", { value: axis, selected: axis === chosen }, `axis ${axis} (${length})`),
      ),
    );
    return h("label", {}, label, select);
  };

  const number = (
    label: string,
    value: number,
    [min, max]: readonly [number, number],
    onPick: (value: number) => void,
  ): HTMLElement => {
    const input = h("input", {
      type: "number",
      "data-key": label,
      inputmode: "numeric",
      min,
      max,
      value,
      onchange: () => {
        const given = Math.round(Number(input.value));
        onPick(Number.isFinite(given) ? Math.max(min, Math.min(max, given)) : value);
      },
    });
    return h("label", {}, label, input);
  };

  const range = (what: string, span: Span): HTMLElement[] => {
    const length = shape[span.axis] ?? 0;
    if (length < 2) return [];
    const put = (part: Partial<Span>): void => {
      spans[span.axis] = { ...span, ...part };
      changed();
    };
    return [
      number(`${what} from`, span.start, [0, span.stop - 1], (start) => put({ start })),
      number(`${what} to`, span.stop - 1, [span.start, length - 1], (last) =>
        put({ stop: last + 1 }),
      ),
    ];
  };

  const swap = (axis: number, of: "rows" | "columns"): void => {
    if (of === "rows") {
      if (axis === columnAxis) columnAxis = rowAxis;
      rowAxis = axis;
    } else {
      if (axis === rowAxis) rowAxis = columnAxis;
      columnAxis = axis;
    }
    changed();
  };

  const draw = (): void => {
    const { rows, columns } = view();
    // The form is made anew; whoever was in it stays where they were.
    const key = document.activeElement?.getAttribute("data-key");
    const inside = element.contains(document.activeElement);
    const parts: HTMLElement[] = [];
    if (rows !== undefined && columns !== undefined) {
      parts.push(
        axisChoice("Rows", rows.axis, (axis) => swap(axis, "rows")),
        axisChoice("Columns", columns.axis, (axis) => swap(axis, "columns")),
      );
    }
    shape.forEach((length, axis) => {
      if (axis === rowAxis || axis === columnAxis) return;
      parts.push(
        number(`Index on axis ${axis}`, fixed[axis] ?? 0, [0, Math.max(0, length - 1)], (index) => {
          fixed[axis] = index;
          changed();
        }),
      );
    });
    if (rows !== undefined) parts.push(...range("Row", rows));
    if (columns !== undefined)
      parts.push(...range(rows === undefined ? "Index" : "Column", columns));
    const isWhole = spans.every(({ start, stop }, axis) => start === 0 && stop === shape[axis]);
    if (!isWhole) {
      parts.push(
        h(
          "button",
          {
            type: "button",
            "data-key": "whole",
            onclick: () => {
              shape.forEach((stop, axis) => {
                spans[axis] = { axis, start: 0, stop };
              });
              changed();
            },
          },
          "Whole slice",
        ),
      );
    }
    element.replaceChildren(...parts);
    element.hidden = parts.length === 0;
    if (!inside) return;
    const again = parts.flatMap((part) => [part, ...part.querySelectorAll<HTMLElement>("*")]);
    (again.find((part) => part.getAttribute("data-key") === key) ?? again.at(-1))?.focus();
  };

  draw();
  return {
    element,
    view,
    zoom(row, column) {
      const { rows, columns } = view();
      for (const [span, at] of [
        [rows, row],
        [columns, column],
      ] as const) {
        const length = span === undefined ? 0 : (shape[span.axis] ?? 0);
        if (span === undefined || length <= zoomed) continue;
        const start = Math.max(0, Math.min(length - zoomed, at - zoomed / 2));
        spans[span.axis] = { axis: span.axis, start, stop: start + zoomed };
      }
      changed();
    },
  };
}

/** The picture of a slice, with its legend, its cursor and its values as a table. */
function painted(
  slice: Slice,
  view: View,
  dtype: DType,
  zoom: (row: number, column: number) => void,
): HTMLElement {
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
  let row = 0;
  let column = 0;

  const cursor = h("div", { class: "cursor" });
  cursor.style.width = `${100 / columns.length}%`;
  cursor.style.height = `${100 / rows.length}%`;
  const readout = h("output", {});
  const described = newId();
  const tableId = newId();
  const values2d = h("details", { id: tableId }, h("summary", {}, "Values as a table"));

  const fillTable = (): void => {
    if (!values2d.open) return;
    const top = Math.min(row, Math.max(0, rows.length - tableRows));
    const left = Math.min(column, Math.max(0, columns.length - tableColumns));
    const shown = columns.slice(left, left + tableColumns);
    const body = rows
      .slice(top, top + tableRows)
      .map((index, i) => [String(index), ...shown.map((_, j) => textAt(top + i, left + j))]);
    values2d.replaceChildren(
      h("summary", {}, "Values as a table"),
      scrolled(
        "Values from the cursor on",
        table("Values from the cursor on", ["Row", ...shown.map(String)], body),
      ),
    );
  };
  values2d.addEventListener("toggle", fillTable);

  const move = (toRow: number, toColumn: number): void => {
    row = Math.max(0, Math.min(rows.length - 1, toRow));
    column = Math.max(0, Math.min(columns.length - 1, toColumn));
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
        move(to[0] ?? 0, to[1] ?? 0);
      },
      onpointermove: (event: PointerEvent) => point(event),
      onpointerdown: (event: PointerEvent) => point(event),
    },
    canvas,
    cursor,
  );
  const point = (event: PointerEvent): void => {
    const box = map.getBoundingClientRect();
    move(
      Math.floor(((event.clientY - box.top) / box.height) * rows.length),
      Math.floor(((event.clientX - box.left) / box.width) * columns.length),
    );
  };
  const shape = size(rows.length, columns.length);
  map.style.maxWidth = `${shape.width}px`;
  map.style.aspectRatio = `${shape.width} / ${shape.height}`;
  move(0, 0);

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
        ? [
            h(
              "button",
              {
                type: "button",
                onclick: () => zoom(rows[row] ?? 0, columns[column] ?? 0),
              },
              "Zoom to the cursor",
            ),
          ]
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

interface Scale {
  /** The least and the greatest finite number; NaN where there is none. */
  readonly low: number;
  readonly high: number;
  /** The numbers at both ends of the colours. */
  readonly ends: readonly [number, number];
  readonly colours: (part: number) => string;
}

/** Two colours that part at zero where there are both signs, one ramp otherwise. */
function colourScale(values: Float64Array): Scale {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) {
    return { low: Number.NaN, high: Number.NaN, ends: [0, 0], colours: interpolateViridis };
  }
  if (low >= 0 || high <= 0) return { low, high, ends: [low, high], colours: interpolateViridis };
  const most = Math.max(-low, high);
  return { low, high, ends: [-most, most], colours: (part) => interpolateRdBu(1 - part) };
}

/** Of NaNs and infinities; in neither of the scales. */
const notFinite = [255, 0, 220];

function paint(
  { rows, columns, values }: Pick<Slice, "rows" | "columns" | "values">,
  { ends: [low, high], colours }: Scale,
): HTMLCanvasElement {
  const canvas = h("canvas", { width: columns.length, height: rows.length, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  if (context === null) return canvas; // the values stand beside it
  const ramp = Array.from({ length: 256 }, (_, i) => channels(colours(i / 255)));
  const half = high / 2 - low / 2; // so that the range of float64 does not overflow
  const image = context.createImageData(columns.length, rows.length);
  values.forEach((value, i) => {
    const part = half === 0 ? 0.5 : (value / 2 - low / 2) / half;
    const colour = Number.isFinite(value) ? ramp[Math.round(part * 255)] : notFinite;
    image.data.set([...(colour ?? notFinite), 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Red, green and blue of `#rrggbb` or `rgb(r, g, b)`. */
function channels(colour: string): number[] {
  return colour.startsWith("#")
    ? [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
    : (colour.match(/\d+/g) ?? []).map(Number);
}

function legend(scale: Scale): HTMLElement {
  const note = h("span", { class: "quiet" }, "pink: NaN or infinite");
  if (Number.isNaN(scale.low)) return h("div", { class: "legend" }, note);
  const [from, to] = scale.ends;
  const columns = Array.from({ length: 64 }, (_, i) => i);
  const values = Float64Array.from(columns, (i) => from * (1 - i / 63) + to * (i / 63));
  return h(
    "div",
    { class: "legend" },
    h("span", {}, numberText(from)),
    paint({ rows: [0], columns, values }, scale),
    h("span", {}, numberText(to)),
    note,
  );
}
