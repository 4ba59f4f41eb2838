import {
  elementCount,
  type NpyArray,
  type NpyStruct,
  structField,
  type TensorInfo,
  toNested,
} from "tensorjar";
import { h, scrolled, table } from "./dom.js";
import { errorView } from "./explain.js";
import { arraysOf, type OpenedFile, type Row } from "./opened-file.js";
import { byteText, printable, valueText } from "./text.js";

const mostShown = 100;
const mostBytes = 64 << 20;

/** The first values of an array of text, dates, bytes or records. */
export async function otherValues(
  opened: OpenedFile,
  row: Row,
  { shape, byteLength }: TensorInfo,
  signal: AbortSignal,
): Promise<HTMLElement> {
  if (byteLength > mostBytes) {
    return h("p", { class: "quiet" }, `Values are shown up to ${byteText(mostBytes)}.`);
  }
  try {
    const array = await arraysOf(opened).get(row.name, { signal });
    const count = elementCount(shape);
    const shown = Math.min(count, mostShown);
    const fields = array.dtype === "struct" ? array.fields.map(({ name }) => name) : ["Value"];
    const columns = columnsOf(array);
    const rows = Array.from({ length: shown }, (_, i) => [
      indexText(i, shape),
      ...columns.map((column) => printable(column(i))),
    ]);
    const caption = shown < count ? `The first ${shown} of ${count} values` : "All values";
    return scrolled(caption, table(caption, ["Index", ...fields.map(printable)], rows));
  } catch (error) {
    return errorView(error);
  }
}

function indexText(flat: number, shape: readonly number[]): string {
  let rest = flat;
  const index: number[] = [];
  for (const length of [...shape].reverse()) {
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return `[${index.join(", ")}]`;
}

type Column = (index: number) => string;

/** The texts of an array's elements in C order; of a record one column for each field. */
function columnsOf(array: NpyArray): Column[] {
  switch (array.dtype) {
    case "string":
      return [(i) => JSON.stringify(array.data[i] ?? "")];
    case "bytes":
    case "void":
      return [
        (i) =>
          Array.from(array.data.subarray(i * array.itemSize, (i + 1) * array.itemSize), (byte) =>
            byte.toString(16).padStart(2, "0"),
          ).join(" "),
      ];
    case "datetime64":
    case "timedelta64":
      return [(i) => `${array.data[i]}${array.unit === "" ? "" : ` ${array.unit}`}`];
    case "struct":
      return array.fields.map(({ name }) => fieldColumn(array, name));
    default: {
      const flat: unknown[] = [toNested({ ...array, shape: [elementCount(array.shape)] })].flat(1);
      return [(i) => valueText(flat[i])];
    }
  }
}

/** A field may be an array itself, or a record again. */
function fieldColumn(array: NpyStruct, name: string): Column {
  const field = structField(array, name);
  const each = elementCount(field.shape) / Math.max(1, elementCount(array.shape));
  const columns = columnsOf(field);
  return (i) => {
    const texts = Array.from({ length: each }, (_, j) =>
      columns.map((column) => column(i * each + j)),
    ).map((parts) => (columns.length === 1 ? parts.join() : `(${parts.join(", ")})`));
    return each === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
  };
}
