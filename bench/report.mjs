// Judges figures by their targets, and makes the tables of RESULTS.md.
import { digits, median, quantile } from "./numbers.mjs";

/** Each target with what was measured: `missed` when a part is surely over its limit, `skipped` when one could not be measured. */
export function verdicts(targets, measured, accepted) {
  if (Object.keys(accepted).length > 2)
    throw new Error("accepted.json may hold at most two targets");
  return targets.map(({ number, figure, parts }) => {
    const limits = Object.entries(parts);
    const over = limits.some(([part, limit]) => measured[part]?.least > limit);
    const lacking = limits.some(([part]) => measured[part] === undefined);
    return {
      number,
      name: figure,
      figure: limits.map(([part, limit]) => range(measured[part], limit)).join(" / "),
      target: `≤ ${limits.map(([, limit]) => limit).join(" / ")}`,
      verdict: over ? (accepted[number] ? "accepted" : "missed") : lacking ? "skipped" : "ok",
    };
  });
}

/** A figure; with what it is at least where only that is within the limit. */
function range(figure, limit) {
  if (figure === undefined) return "–";
  const { value, least } = figure;
  return value > limit && least <= limit ? `${digits(least)}–${digits(value)}` : digits(value);
}

const table = (head, rows) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

export function targetTable(judged) {
  return table(
    ["", "figure", "measured", "target", ""],
    judged.map(({ number, name, figure, target, verdict }) => [
      number,
      name,
      figure,
      target,
      verdict,
    ]),
  );
}

export function growthTable(rows) {
  return table(
    ["job", "1/16, ms", "1/4, ms", "1, ms", "cost per byte at 1 ÷ at 1/4"],
    rows.map(({ title, ms, growth }) => [title, ...ms.map(digits), digits(growth)]),
  );
}

/** Who took how long and how much memory, and the ratios of the pairs: medians and the middle half of them. */
export function groupTable({ samples, ratios }) {
  const names = Object.keys(samples);
  return table(
    ["", "ms", "from – to", "peak, MiB", "ratio", "middle half"],
    names.map((name) => {
      const runs = samples[name];
      const ms = runs.map((run) => run.ms);
      const against = ratios.filter(({ of, by }) => (of === names[0] ? by : of) === name);
      return [
        name,
        digits(median(ms)),
        `${digits(Math.min(...ms))} – ${digits(Math.max(...ms))}`,
        runs[0].peak === undefined
          ? ""
          : Math.round(Math.max(...runs.map((run) => run.peak)) / 1024),
        against.map(({ of, by, values }) => `${of} ÷ ${by} = ${digits(median(values))}`).join(", "),
        against
          .map(
            ({ values }) => `${digits(quantile(values, 0.25))} – ${digits(quantile(values, 0.75))}`,
          )
          .join(", "),
      ];
    }),
  );
}
