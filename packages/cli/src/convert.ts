import { isDType, quote } from "@tensorjar/core/codec";
import {
  byteLength,
  createNpyWriter,
  type DType,
  fileSink,
  type NpyArray,
  type SinkLike,
  type TensorFile,
  TensorjarError,
  type TensorProducer,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from "tensorjar";
import { pieces } from "./elements.js";
import { type ProgressBar, progressBar } from "./progress.js";
import { type ArrayFile, openArrays, shownPath } from "./source.js";
import { byteText, countText, printable, printJson } from "./text.js";

export interface ConvertOptions {
  deflate?: boolean;
  dropMetadata?: boolean;
  dropMembers?: boolean;
  json?: boolean;
}

type Writer = (
  file: TensorFile<NpyArray>,
  sink: SinkLike,
  options: ConvertOptions,
  bar: ProgressBar,
) => Promise<void>;

/** Copies every array of one file into another container; the target appears whole or not at all. */
export async function convert(
  from: string,
  to: string,
  options: ConvertOptions,
  signal: AbortSignal,
): Promise<void> {
  const container = /\.(safetensors|npz|npy)$/i.exec(to)?.[1]?.toLowerCase();
  const write = container === undefined ? undefined : writers[container];
  if (write === undefined) {
    throw new TensorjarError(
      "invalid-argument",
      `the extension of ${quote(shownPath(to))} tells no container`,
      {
        hint: "end the name in .safetensors, .npz or .npy",
      },
    );
  }
  if (options.deflate && container !== "npz") {
    throw new TensorjarError("invalid-argument", "--deflate compresses an .npz only", {
      hint: "leave it out, or end the name in .npz",
    });
  }
  const file = await openArrays(from, signal);
  let total = 0;
  try {
    refuseMembers(file, options.dropMembers);
    for (const name of file.names) total += (await file.info(name)).byteLength;
    const bar = progressBar(total);
    try {
      await write(file, fileSink(to), options, bar);
    } finally {
      bar.stop();
    }
  } finally {
    await file.close();
  }
  if (options.json)
    printJson({ from: shownPath(from), to, tensors: file.names.length, byteLength: total });
  else
    console.log(`${printable(to)}: ${countText(file.names.length, "tensor")}, ${byteText(total)}`);
}

/** What `np.savez` calls an array that was given no name. */
const unnamed = "arr_0";

const writers: Record<string, Writer> = {
  safetensors: async (file, sink, { dropMetadata = false }, bar) => {
    const producers: TensorProducer[] = [];
    for (const name of file.names) {
      const { dtype, shape } = await file.info(name);
      if (!isDType(dtype)) throw cannotHold("a safetensors file", name, dtype);
      producers.push({ name, dtype, shape, data: () => counted(file, name, bar) });
    }
    const metadata = new Map(dropMetadata ? [] : file.metadata);
    await writeSafetensors(sink, producers, { metadata });
  },
  npz: async (file, sink, { deflate, dropMetadata }, bar) => {
    refuseMetadata("an .npz", file, dropMetadata);
    const arrays = async function* (): AsyncGenerator<[string, NpyArray]> {
      for (const name of file.names) {
        const array = await file.get(name);
        yield [name === "" && file.format === "npy" ? unnamed : name, array];
        bar.add((await file.info(name)).byteLength, name);
      }
    };
    await writeNpz(sink, arrays(), { compression: deflate ? "deflate" : "stored" });
  },
  npy: async (file, sink, { dropMetadata }, bar) => {
    refuseMetadata("a .npy", file, dropMetadata);
    const [name, ...others] = file.names;
    if (name === undefined || others.length > 0) {
      throw new TensorjarError(
        "unsupported",
        `a .npy holds one array, this file has ${file.names.length}`,
        {
          hint: "convert to .npz or .safetensors",
        },
      );
    }
    const { dtype, shape, byteLength } = await file.info(name);
    const [rows, ...rowShape] = shape;
    if (rows === undefined || byteLength === 0 || !isDType(dtype))
      return writeNpy(sink, await file.get(name));
    await writeRows(file, name, { dtype, rows, rowShape }, sink, bar);
  },
};

/** Writes one array that is not empty row by row in bounded memory; a single row may be large. */
async function writeRows(
  file: TensorFile<NpyArray>,
  name: string,
  { dtype, rows, rowShape }: { dtype: DType; rows: number; rowShape: readonly number[] },
  sink: SinkLike,
  bar: ProgressBar,
): Promise<void> {
  const writer = createNpyWriter(sink, { dtype, rowShape, rows });
  try {
    const rowBytes = byteLength(dtype, rowShape);
    const info = { dtype, byteLength: rows * rowBytes };
    for await (const piece of pieces(file, name, info, rowBytes)) {
      const count = piece.data.byteLength / rowBytes;
      await writer.append({ ...piece, shape: [count, ...rowShape] });
      bar.add(piece.data.byteLength, name);
    }
    await writer.close();
  } catch (error) {
    await writer.abort(error);
    throw error;
  }
}

async function* counted(
  file: TensorFile<NpyArray>,
  name: string,
  bar: ProgressBar,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of file.chunks(name)) {
    yield chunk;
    bar.add(chunk.length, name);
  }
}

function cannotHold(container: string, name: string, dtype: string): TensorjarError {
  return new TensorjarError(
    "unsupported",
    `${container} cannot hold ${quote(name)}, which is of dtype ${quote(dtype)}`,
    { name, actual: dtype },
  );
}

function refuseMembers({ others }: ArrayFile, drop = false): void {
  if (drop || others.length === 0) return;
  const names = others.map(({ name }) => quote(name));
  const some = names.length > 5 ? [...names.slice(0, 5), `${names.length - 5} more`] : names;
  throw new TensorjarError(
    "unsupported",
    `no container holds what is no array: ${some.join(", ")}`,
    {
      hint: "--drop-members converts without them",
    },
  );
}

function refuseMetadata(container: string, file: TensorFile<NpyArray>, drop = false): void {
  if (drop || file.metadata.size === 0) return;
  const keys = [...file.metadata.keys()].slice(0, 5).map(quote).join(", ");
  throw new TensorjarError("unsupported", `${container} file cannot hold the metadata ${keys}`, {
    hint: "--drop-metadata converts without it",
  });
}
