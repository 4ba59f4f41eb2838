import pc from "picocolors";
import {
  type CheckpointSummary,
  inspectCheckpoint,
  isTensorjarError,
  type TensorInfo,
} from "tensorjar";
import { isNumeric } from "./elements.js";
import { progressBar } from "./progress.js";
import { type ArrayFile, isCheckpoint, openArrays, shownPath, sourceOf } from "./source.js";
import { type Statistics, sparkline, statistics } from "./statistics.js";
import {
  byteText,
  countText,
  errorText,
  numberText,
  printable,
  printJson,
  shapeText,
  tableText,
} from "./text.js";

interface Row extends TensorInfo {
  readonly name: string;
  readonly statistics?: Statistics;
}

/** An array that is listed but cannot be read, such as one of objects. */
interface Unreadable {
  readonly name: string;
  readonly reason: string;
}

/** Prints what a file or URL holds; reads no tensor unless `stats` asks for it. */
export async function inspect(
  path: string,
  { stats = false, json = false }: { stats?: boolean; json?: boolean },
  signal: AbortSignal,
): Promise<void> {
  const file = await openArrays(path, signal);
  try {
    const { infos, unreadable } = await infosOf(file);
    const bytes = infos.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const rows = stats ? await withStatistics(file, infos, bytes) : infos;
    const checkpoint = await checkpointOf(file, path, signal);
    const { others } = file;
    if (json) {
      printJson({
        format: file.format,
        metadata: file.metadata,
        ...(checkpoint === undefined
          ? {}
          : { checkpoint: { ...checkpoint, params: [...checkpoint.params.keys()] } }),
        tensors: rows,
        ...(unreadable.length > 0 && { unreadable }),
        ...(others.length > 0 && { others: others.map(({ name, size }) => ({ name, size })) }),
      });
      return;
    }
    console.log(
      `${pc.bold(printable(shownPath(path)))}  ${file.format}, ${countText(rows.length, "tensor")}, ${byteText(bytes)}`,
    );
    if (checkpoint !== undefined) printCheckpoint(checkpoint);
    else if (file.metadata.size > 0) {
      console.log(`\n${pc.bold("metadata")}`);
      for (const [key, value] of file.metadata)
        console.log(
          `  ${printable(key) || '""'}: ${printable(value.length > 300 ? `${value.slice(0, 297)}...` : value)}`,
        );
    }
    if (rows.length > 0) printRows(rows, stats);
    if (unreadable.length > 0) {
      console.log(`\n${pc.bold("arrays that cannot be read")}`);
      for (const { name, reason } of unreadable)
        console.log(`  ${printable(name)}: ${printable(reason)}`);
    }
    if (others.length > 0) {
      console.log(`\n${pc.bold("members that are no arrays")}`);
      for (const { name, size } of others) console.log(`  ${printable(name)}: ${byteText(size)}`);
    }
  } finally {
    await file.close();
  }
}

async function infosOf(file: ArrayFile): Promise<{ infos: Row[]; unreadable: Unreadable[] }> {
  const infos: Row[] = [];
  const unreadable: Unreadable[] = [];
  for (const name of file.names) {
    try {
      infos.push({ name, ...(await file.info(name)) });
    } catch (error) {
      if (!isTensorjarError(error, "unsupported")) throw error;
      unreadable.push({ name, reason: errorText(error) });
    }
  }
  return { infos, unreadable };
}

async function withStatistics(
  file: ArrayFile,
  infos: readonly Row[],
  bytes: number,
): Promise<Row[]> {
  const bar = progressBar(2 * bytes);
  try {
    const rows: Row[] = [];
    for (const info of infos) {
      const { name, dtype } = info;
      rows.push(
        isNumeric(dtype)
          ? {
              ...info,
              statistics: await statistics(file, name, { ...info, dtype }, (n) => bar.add(n, name)),
            }
          : info,
      );
    }
    return rows;
  } finally {
    bar.stop();
  }
}

/** The state of a training run, when the file is a checkpoint of tensorjar or of the gsplat gem. */
async function checkpointOf(
  file: ArrayFile,
  path: string,
  signal: AbortSignal,
): Promise<CheckpointSummary | undefined> {
  if (!isCheckpoint(file)) return undefined;
  const source = await sourceOf(path, signal);
  try {
    return await inspectCheckpoint(source);
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    console.error(`${pc.yellow(error.code)}  ${errorText(error)}`);
    return undefined;
  } finally {
    await source.close?.();
  }
}

function printCheckpoint(summary: CheckpointSummary): void {
  const { version, step, config, params, optimizers, metrics = {} } = summary;
  console.log(`\n${pc.bold("checkpoint")} version ${version}, step ${step}`);
  console.log(`  parameters: ${params.size}`);
  console.log(`  optimizers: ${optimizers.map(printable).join(", ") || "none"}`);
  console.log(`  config: ${printable(JSON.stringify(config))}`);
  const values = Object.entries(metrics).map(([name, value]) => `${name} ${value}`);
  if (values.length > 0) console.log(`  metrics: ${printable(values.join(", "))}`);
}

function printRows(rows: readonly Row[], stats: boolean): void {
  const head = [
    "name",
    "dtype",
    "shape",
    "bytes",
    ...(stats ? ["min", "max", "mean", "NaN", "histogram"] : []),
  ];
  const text = (value: number | bigint | undefined): string =>
    value === undefined ? "-" : numberText(value);
  console.log();
  console.log(
    tableText(
      head,
      rows.map(({ name, dtype, shape, byteLength, statistics: s }) => [
        name === "" ? '""' : printable(name),
        dtype,
        shapeText(shape),
        byteText(byteLength),
        ...(stats
          ? [
              text(s?.min),
              text(s?.max),
              text(s?.mean),
              text(s?.nans),
              s === undefined ? "" : sparkline(s.histogram),
            ]
          : []),
      ]),
      [3, 4, 5, 6, 7],
    ),
  );
}
