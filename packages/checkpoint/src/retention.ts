import { TensorjarError } from "@tensorjar/core";
import { describe, quote } from "@tensorjar/core/codec";

/** A checkpoint in a store. */
export interface CheckpointInfo {
  readonly step: number;
  /** Of its file. */
  readonly name: string;
  /** Bytes of its file. */
  readonly size: number;
  readonly metrics?: Readonly<Record<string, number>>;
  /** Whether saving it replaced one of the same step. */
  readonly replaced?: boolean;
}

/** The steps to keep, of all that are there. */
export type RetentionPolicy = (history: readonly CheckpointInfo[]) => ReadonlySet<number>;

/** Keeps the `n` highest steps; `Infinity` keeps all. */
export function keepLatest(n: number): RetentionPolicy {
  if (n !== Infinity) checkCount(n, "keepLatest");
  return (history) => steps([...history].sort((a, b) => b.step - a.step).slice(0, n));
}

/** Keeps the steps that `n` divides. */
export function keepEvery(n: number): RetentionPolicy {
  checkCount(n, "keepEvery");
  return (history) => steps(history.filter(({ step }) => step % n === 0));
}

/** Keeps the `n` best by a metric, the later one of two that are equal; what has no such metric, or NaN, is none of them. */
export function keepBest(n: number, metric: string, mode: "min" | "max"): RetentionPolicy {
  checkCount(n, "keepBest");
  const name: unknown = metric;
  if (typeof name !== "string") {
    throw new TensorjarError("invalid-argument", `the metric of keepBest is ${describe(name)}`, {
      name: "metric",
      hint: "give its name",
    });
  }
  checkMode(mode);
  return (history) => steps(byMetric(history, metric, mode).slice(0, n));
}

/** Keeps what any of the policies keeps. */
export function keepAny(...policies: RetentionPolicy[]): RetentionPolicy {
  for (const policy of policies) checkPolicy(policy, "a policy of keepAny");
  return (history) => new Set(policies.flatMap((policy) => [...policy(history)]));
}

/** Those that have a metric, the best first. */
export function byMetric(
  history: readonly CheckpointInfo[],
  metric: string,
  mode: "min" | "max",
): CheckpointInfo[] {
  const value = ({ metrics }: CheckpointInfo): number =>
    metrics !== undefined && Object.hasOwn(metrics, metric) ? (metrics[metric] ?? NaN) : NaN;
  const sign = mode === "min" ? 1 : -1;
  return history
    .filter((info) => !Number.isNaN(value(info)))
    .sort((a, b) => {
      const [left, right] = [value(a), value(b)];
      return left === right ? b.step - a.step : sign * (left < right ? -1 : 1);
    });
}

function steps(history: readonly CheckpointInfo[]): Set<number> {
  return new Set(history.map(({ step }) => step));
}

function checkCount(n: unknown, policy: string): void {
  if (typeof n === "number" && Number.isSafeInteger(n) && n >= 1) return;
  throw new TensorjarError("invalid-argument", `${policy} was given ${describe(n)}`, {
    name: policy,
    actual: n,
    hint: "give an integer from 1",
  });
}

export function checkPolicy(policy: unknown, what: string): void {
  if (typeof policy === "function") return;
  throw new TensorjarError("invalid-argument", `${what} is ${describe(policy)}`, {
    name: what,
    hint: "give a policy such as keepLatest(3)",
  });
}

export function checkMode(mode: unknown): void {
  if (mode === "min" || mode === "max") return;
  throw new TensorjarError(
    "invalid-argument",
    `the best checkpoint is "min" or "max", not ${typeof mode === "string" ? quote(mode) : describe(mode)}`,
    { name: "mode" },
  );
}
