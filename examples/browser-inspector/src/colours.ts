import { interpolateRdBu, interpolateViridis } from "d3-scale-chromatic";
import { h } from "./dom.js";
import type { Slice } from "./slice.js";
import { numberText } from "./text.js";

/** What colours stand for. */
export interface Scale {
  /** The least and the greatest finite number; NaN where there is none. */
  readonly low: number;
  readonly high: number;
  /** The numbers at both ends of the colours. */
  readonly ends: readonly [number, number];
  readonly colours: (part: number) => string;
  /** Whether a NaN or an infinity is among the numbers. */
  readonly holes: boolean;
}

/** Two colours that part at zero where there are both signs, one ramp otherwise. */
export function colourScale(values: Float64Array): Scale {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  let holes = false;
  for (const value of values) {
    if (!Number.isFinite(value)) {
      holes = true;
      continue;
    }
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) {
    const none = Number.NaN;
    return { low: none, high: none, ends: [0, 0], colours: interpolateViridis, holes };
  }
  if (low >= 0 || high <= 0)
    return { low, high, ends: [low, high], colours: interpolateViridis, holes };
  const most = Math.max(-low, high);
  return { low, high, ends: [-most, most], colours: (part) => interpolateRdBu(1 - part), holes };
}

/** Of NaNs and infinities; in neither of the scales. */
const notFinite = [255, 0, 220];

/** A canvas with one pixel for each number. */
export function paint(
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

/** What the colours of a scale stand for, with the numbers at its ends. */
export function legend(scale: Scale): HTMLElement {
  const note = scale.holes ? [h("span", { class: "quiet" }, "pink: NaN or infinite")] : [];
  if (Number.isNaN(scale.low)) return h("div", { class: "legend" }, ...note);
  const [from, to] = scale.ends;
  const columns = Array.from({ length: 64 }, (_, i) => i);
  const values = Float64Array.from(columns, (i) => from * (1 - i / 63) + to * (i / 63));
  return h(
    "div",
    { class: "legend" },
    h("span", {}, numberText(from)),
    paint({ rows: [0], columns, values }, scale),
    h("span", {}, numberText(to)),
    ...note,
  );
}
