import { h } from "./dom.js";
import { type Span, type View, wholeView } from "./slice.js";

/** Cells along an axis after zooming in. */
export const zoomed = 32;

/** The form that says which slice is shown. */
export interface Controls {
  readonly element: HTMLElement;
  view(): View;
  /** Remembers where the cursor is: on an axis that is exchanged for another one, this index is shown. */
  point(axis: number, index: number): void;
  /** Narrows the view to what lies around the cursor. */
  zoom(): void;
}

/** Which axes are shown and which index of the others, as a form. */
export function sliceControls(shape: readonly number[], onChange: (view: View) => void): Controls {
  const whole = wholeView(shape);
  let rowAxis = whole.rows?.axis;
  let columnAxis = whole.columns?.axis;
  const fixed = [...whole.fixed];
  const spans = shape.map((length, axis): Span => ({ axis, start: 0, stop: length }));
  const view = (): View => ({
    rows: rowAxis === undefined ? undefined : spans[rowAxis],
    columns: columnAxis === undefined ? undefined : spans[columnAxis],
    fixed: [...fixed],
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
    point(axis, index) {
      fixed[axis] = index;
    },
    zoom() {
      for (const axis of [rowAxis, columnAxis]) {
        const length = axis === undefined ? 0 : (shape[axis] ?? 0);
        if (axis === undefined || length <= zoomed) continue;
        const start = Math.max(0, Math.min(length - zoomed, (fixed[axis] ?? 0) - zoomed / 2));
        spans[axis] = { axis, start, stop: start + zoomed };
      }
      changed();
    },
  };
}
