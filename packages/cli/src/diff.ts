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
import { type ArrayFile, arrayName, openArrays } from "./source.js";
import {
  countText,
  numberText,
  othersText,
  printable,
  printJson,
  shapeText,
  tableText,
} from "./text.js";

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

/** Prints how two files differ, in bounded memory; whether they are equal. Metadata is named and does not count. */
export async function diff(
  pathA: string,
  pathB: string,
  { json = false }: { json?: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const a = await openArrays(pathA, signal);
  try {
    const b = await openArrays(pathB, signal);
    try {
      const differences = await compare(a, b);
      const metadata = differingKeys(a.metadata, b.metadata);
      if (json)
        printJson({
          equal: differences.length === 0,
          differences,
          ...(metadata.length > 0 && { metadata }),
        });
      else {
        print(differences, a);
        if (metadata.length > 0)
          console.log(`metadata, which does not count, differs: ${keysText(metadata)}`);
      }
      return differences.length === 0;
    } finally {
      await b.close();
    }
  } finally {
    await a.close();
  }
}

/** The keys that only one of the two has, or that have another value there. */
function differingKeys(
  a: ReadonlyMap<string, string>,
  b: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).sort();
}

function keysText(keys: readonly string[]): string {
  const shown = keys.slice(0, 10).map((key) => printable(key) || '""');
  return [...shown, ...(keys.length > 10 ? [`${keys.length - 10} more`] : [])].join(", ");
}

/** Stands for the dtype of an archive's member that is no array. */
const noArray = "no array";

/** What a file holds, arrays and other members, by name. */
async function contents(file: ArrayFile): Promise<Map<string, TensorInfo>> {
  const infos = new Map<string, TensorInfo>();
  for (const name of file.names) infos.set(name, await file.info(name));
  for (const { name, size } of file.others)
    infos.set(arrayName(name), { dtype: noArray, shape: [size], byteLength: size });
  return infos;
}

async function compare(a: ArrayFile, b: ArrayFile): Promise<Difference[]> {
  const inA = await contents(a);
  const inB = await contents(b);
  const differences: Difference[] = [];
  const shared: { name: string; info: TensorInfo }[] = [];
  for (const [name, info] of inA) {
    const other = inB.get(name);
    if (other === undefined) {
      differences.push({ name, kind: "only in A", a: infoText(info) });
      continue;
    }
    const kind =
      info.dtype !== other.dtype
        ? "dtype"
        : shapeText(info.shape) !== shapeText(other.shape)
          ? "shape"
          : undefined;
    if (kind === undefined) shared.push({ name, info });
    else differences.push({ name, kind, a: infoText(info), b: infoText(other) });
  }
  for (const [name, info] of inB) {
    if (!inA.has(name)) differences.push({ name, kind: "only in B", b: infoText(info) });
  }
  const bar = progressBar(shared.reduce((sum, { info }) => sum + info.byteLength, 0));
  try {
    for (const { name, info } of shared) {
      const found = isNumeric(info.dtype)
        ? await compareNumbers(a, b, name, { ...info, dtype: info.dtype }, bar)
        : info.dtype === noArray
          ? await compareMembers(a, b, name)
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
  info: { dtype: DType; byteLength: number },
  bar: ProgressBar,
): Promise<{ count: number; maxAbs: number; nans: number } | undefined> {
  const sum = { count: 0, maxAbs: 0, nans: 0 };
  const others = pieces(b, name, info);
  for await (const piece of pieces(a, name, info)) {
    const other = await others.next();
    if (other.done) break;
    if (!sameBytes(piece, other.value)) addDifferences(piece, other.value, sum);
    bar.add(piece.data.byteLength, name);
  }
  await others.return(undefined);
  return sum.count > 0 ? sum : undefined;
}

function sameBytes(a: TensorOf<DType>, b: TensorOf<DType>): boolean {
  return bytesOf(a.data).equals(bytesOf(b.data));
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
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

/** What is no array: equal or not. */
async function compareMembers(
  a: ArrayFile,
  b: ArrayFile,
  name: string,
): Promise<object | undefined> {
  const content = async ({ others }: ArrayFile): Promise<Uint8Array | undefined> =>
    others.find((other) => arrayName(other.name) === name)?.bytes();
  const ours = await content(a);
  const theirs = await content(b);
  return ours && theirs && Buffer.compare(ours, theirs) === 0 ? undefined : {};
}

/** Strings, structs and the like: equal or not. */
async function compareOthers(
  a: TensorFile<NpyArray>,
  b: TensorFile<NpyArray>,
  name: string,
): Promise<object | undefined> {
  const { data: ours, ...form } = await a.get(name);
  const { data: theirs, ...otherForm } = await b.get(name);
  return sameData(ours, theirs) && JSON.stringify(form) === JSON.stringify(otherForm)
    ? undefined
    : {};
}

function sameData(a: NpyArray["data"], b: NpyArray["data"]): boolean {
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) return bytesOf(a).equals(bytesOf(b));
  return a.length === b.length && a.every((text: unknown, i: number) => text === b[i]);
}

function print(differences: readonly Difference[], { names, others }: ArrayFile): void {
  if (differences.length === 0) {
    console.log(`${pc.green("equal")}  ${countText(names.length, "tensor")}${othersText(others)}`);
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
  console.log(tableText(head, rows, [4, 5, 6]));
}
