import pc from "picocolors";
import {
  type DType,
  type NpyArray,
  type TensorFile,
  type TensorInfo,
  type TensorOf,
  toFloat64,
} from "tensorjar";
import { isNumeric, pieces } from "./elements.js";
import { type ProgressBar, progressBar } from "./progress.js";
import { openArrays } from "./source.js";
import { countText, numberText, printable, printJson, shapeText, tableText } from "./text.js";

type Kind = "only in A" | "only in B" | "shape" | "dtype" | "values";

interface Difference {
  readonly name: string;
  readonly kind: Kind;
  readonly a?: string;
  readonly b?: string;
  /** Elements that differ; two NaNs do not. */
  readonly count?: number;
  /** The largest difference of two finite numbers. */
  readonly maxAbs?: number;
  /** Elements that are NaN in one file only. */
  readonly nans?: number;
}

/** Prints how two files differ, in bounded memory; whether they are equal. Metadata does not count. */
export async function diff(
  pathA: string,
  pathB: string,
  { json = false }: { json?: boolean },
): Promise<boolean> {
  const a = await openArrays(pathA);
  try {
    const b = await openArrays(pathB);
    try {
      const differences = await compare(a, b);
      if (json) printJson({ equal: differences.length === 0, differences });
      else print(differences, a.names.length);
      return differences.length === 0;
    } finally {
      await b.close();
    }
  } finally {
    await a.close();
  }
}

async function compare(a: TensorFile<NpyArray>, b: TensorFile<NpyArray>): Promise<Difference[]> {
  const inB = new Set(b.names);
  const inA = new Set(a.names);
  const differences: Difference[] = [];
  const shared: { name: string; info: TensorInfo }[] = [];
  for (const name of a.names) {
    const info = await a.info(name);
    if (!inB.has(name)) {
      differences.push({ name, kind: "only in A", a: infoText(info) });
      continue;
    }
    const other = await b.info(name);
    const kind =
      info.dtype !== other.dtype
        ? "dtype"
        : shapeText(info.shape) !== shapeText(other.shape)
          ? "shape"
          : undefined;
    if (kind === undefined) shared.push({ name, info });
    else differences.push({ name, kind, a: infoText(info), b: infoText(other) });
  }
  for (const name of b.names) {
    if (!inA.has(name))
      differences.push({ name, kind: "only in B", b: infoText(await b.info(name)) });
  }
  const bar = progressBar(shared.reduce((sum, { info }) => sum + info.byteLength, 0));
  try {
    for (const { name, info } of shared) {
      const found = isNumeric(info.dtype)
        ? await compareNumbers(a, b, name, info.dtype, bar)
        : await compareOthers(a, b, name);
      if (found !== undefined) differences.push({ name, kind: "values", ...found });
    }
  } finally {
    bar.stop();
  }
  return differences;
}

function infoText({ dtype, shape }: TensorInfo): string {
  return `${dtype} ${shapeText(shape)}`;
}

async function compareNumbers(
  a: TensorFile<NpyArray>,
  b: TensorFile<NpyArray>,
  name: string,
  dtype: DType,
  bar: ProgressBar,
): Promise<{ count: number; maxAbs: number; nans: number } | undefined> {
  const sum = { count: 0, maxAbs: 0, nans: 0 };
  const others = pieces(b, name, dtype);
  for await (const piece of pieces(a, name, dtype)) {
    const other = await others.next();
    if (other.done) break;
    if (!sameBytes(piece, other.value)) addDifferences(piece, other.value, sum);
    bar.add(piece.data.byteLength, name);
  }
  await others.return(undefined);
  return sum.count > 0 ? sum : undefined;
}

function sameBytes(a: TensorOf<DType>, b: TensorOf<DType>): boolean {
  const bytes = ({ data }: TensorOf<DType>): Buffer =>
    Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return bytes(a).equals(bytes(b));
}

function addDifferences(
  a: TensorOf<DType>,
  b: TensorOf<DType>,
  sum: { count: number; maxAbs: number; nans: number },
): void {
  const ours = toFloat64(a);
  const theirs = toFloat64(b);
  const exact = a.dtype === "int64" || a.dtype === "uint64";
  for (let i = 0; i < ours.length; i++) {
    const x = ours[i] ?? 0;
    const y = theirs[i] ?? 0;
    const same = exact ? a.data[i] === b.data[i] : x === y || (Number.isNaN(x) && Number.isNaN(y));
    if (same) continue;
    sum.count += 1;
    if (Number.isNaN(x) !== Number.isNaN(y)) sum.nans += 1;
    const distance = exact
      ? Math.abs(Number(BigInt(a.data[i] ?? 0) - BigInt(b.data[i] ?? 0)))
      : Math.abs(x - y);
    if (distance > sum.maxAbs) sum.maxAbs = distance;
  }
}

/** Strings, structs and the like: equal or not. */
async function compareOthers(
  a: TensorFile<NpyArray>,
  b: TensorFile<NpyArray>,
  name: string,
): Promise<object | undefined> {
  const content = async (file: TensorFile<NpyArray>): Promise<string> => {
    const { data, ...rest } = await file.get(name);
    const values = ArrayBuffer.isView(data)
      ? Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64")
      : data;
    return JSON.stringify([values, rest]);
  };
  return (await content(a)) === (await content(b)) ? undefined : {};
}

function print(differences: readonly Difference[], count: number): void {
  if (differences.length === 0) {
    console.log(`${pc.green("equal")}  ${countText(count, "tensor")}`);
    return;
  }
  const rows = differences.map(({ name, kind, a = "", b = "", count: n, maxAbs, nans }) => [
    name === "" ? '""' : printable(name),
    kind,
    a,
    b,
    n === undefined ? "" : String(n),
    maxAbs === undefined ? "" : numberText(maxAbs),
    nans ? String(nans) : "",
  ]);
  const head = ["name", "difference", "A", "B", "elements", "largest", "NaN in one"];
  console.log(
    tableText(
      head.map((text) => pc.bold(text)),
      rows,
      [4, 5, 6],
    ),
  );
}
