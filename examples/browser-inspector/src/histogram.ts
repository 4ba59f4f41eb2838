import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  LinearScale,
  LogarithmicScale,
  Tooltip,
} from "chart.js";
import { disclosed, h, scrolled, styleOf, table } from "./dom.js";
import type { Bin, Statistics } from "./statistics.js";
import { numberText } from "./text.js";

Chart.register(BarController, BarElement, CategoryScale, LinearScale, LogarithmicScale, Tooltip);
Chart.defaults.animation = false;
Chart.defaults.font.family = "system-ui, sans-serif";

/** The chart of each canvas in the page, to be drawn anew in other colours and given up with its canvas. */
const charts = new Map<HTMLCanvasElement, Chart>();

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [canvas, chart] of charts) if (canvas.isConnected) chart.update();
});

const quiet = (): string => styleOf("--quiet");
const line = (): string => styleOf("--line");

/** A histogram with, in full size, its counts as a table and a logarithmic axis on demand. */
export function histogram(
  what: string,
  { histogram: bins }: Statistics,
  small = false,
): HTMLElement {
  forget();
  const canvas = h("canvas", { role: "img", "aria-label": description(what, bins) });
  const accent = (): string => styleOf("--accent");
  const chart = new Chart(canvas, {
    type: "bar",
    data: {
      labels: bins.map(binText),
      datasets: [
        {
          data: bins.map(({ count }) => count),
          backgroundColor: accent,
          hoverBackgroundColor: accent,
          barPercentage: 1,
          categoryPercentage: 0.96,
        },
      ],
    },
    options: {
      maintainAspectRatio: false,
      events: small ? [] : ["mousemove", "mouseout", "touchstart"],
      scales: {
        x: {
          grid: { display: false },
          border: { display: false },
          ticks: {
            color: quiet,
            maxRotation: 0,
            autoSkipPadding: 24,
            callback: (_, index) => numberText(bins[index]?.low ?? 0),
          },
        },
        y: {
          beginAtZero: true,
          display: !small,
          grid: { color: line },
          border: { display: false },
          ticks: {
            color: quiet,
            precision: 0,
            maxTicksLimit: 6,
            callback: (count) =>
              Number.isInteger(Number(count)) ? Number(count).toLocaleString("en") : "",
          },
        },
      },
      plugins: { tooltip: { displayColors: false } },
    },
  });
  charts.set(canvas, chart);
  const plot = h("div", { class: small ? "plot small" : "plot" }, canvas);
  if (small) return plot;

  const logarithmic = h("input", {
    type: "checkbox",
    onchange: () => {
      const y = chart.options.scales?.["y"];
      // The option's type names one kind of axis; the chart takes either. A count of 1 stays in sight.
      const kind = logarithmic.checked
        ? { type: "logarithmic", min: 0.5 }
        : { type: "linear", min: 0 };
      if (y !== undefined) Object.assign(y, kind);
      chart.update();
    },
  });
  return h(
    "div",
    {},
    plot,
    h("label", { class: "check" }, logarithmic, " Logarithmic counts"),
    disclosed("Counts as a table", () =>
      scrolled(
        `Counts of ${what}`,
        table(
          `How many numbers of ${what} lie in each range`,
          ["Range", "Count"],
          bins.map((bin) => [binText(bin), bin.count.toLocaleString("en")]),
        ),
      ),
    ),
  );
}

/** Gives up the charts whose canvas has left the page. */
function forget(): void {
  for (const [canvas, chart] of charts) {
    if (canvas.isConnected) continue;
    chart.destroy();
    charts.delete(canvas);
  }
}

function binText({ low, high }: Bin): string {
  return low === high ? numberText(low) : `${numberText(low)} to ${numberText(high)}`;
}

function description(what: string, bins: readonly Bin[]): string {
  const highest = bins.reduce((a, b) => (b.count > a.count ? b : a));
  const first = bins[0] ?? highest;
  const last = bins.at(-1) ?? highest;
  return `Histogram of ${what}, from ${numberText(first.low)} to ${numberText(last.high)}; most of them, ${highest.count.toLocaleString("en")}, at ${binText(highest)}`;
}
