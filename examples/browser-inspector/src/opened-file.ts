import {
  type ByteSource,
  blobSource,
  type CheckpointSummary,
  httpSource,
  inspectCheckpoint,
  isTensorjarError,
  type NpyArray,
  type NpyFile,
  type NpzFile,
  open,
  openNpy,
  openNpz,
  openSafetensors,
  openShardedSafetensors,
  type SafetensorsFile,
  sniff,
  type TensorFile,
  type TensorInfo,
  TensorjarError,
} from "tensorjar";
import { Meter, metered } from "./metered.js";
import { byParameter, type Place, placesOf } from "./places.js";

/** One tensor of a file. Its header may not have been read yet: in an archive each has one of its own. */
export interface Row {
  readonly name: string;
  readonly place?: Place;
  info?: TensorInfo;
  /** Whether its header turned out to be damaged. */
  damaged?: boolean;
}

/** An open file; only its headers were read. */
export interface OpenedFile {
  /** The file's name, or its address. */
  readonly label: string;
  /** How it is read, of which each kind can do other things. */
  readonly opened:
    | { readonly kind: "npy"; readonly file: NpyFile; readonly source: ByteSource }
    | { readonly kind: "npz"; readonly file: NpzFile; readonly source: ByteSource }
    | { readonly kind: "safetensors"; readonly file: SafetensorsFile; readonly source: ByteSource }
    | { readonly kind: "sharded"; readonly file: TensorFile };
  /** Of the file, in bytes; undefined for a sharded model, of which shards are opened as they are needed. */
  readonly size: number | undefined;
  readonly rows: readonly Row[];
  /** Whether it is read over a network. */
  readonly remote: boolean;
  /** Whether the server sent all of it, since it does not know ranges. */
  readonly sentWhole: () => boolean;
  readonly meter: Meter;
  readonly checkpoint?: CheckpointSummary;
  /** Why what says that it is a checkpoint is none. */
  readonly checkpointFault?: TensorjarError;
  close(): Promise<void>;
}

/** The array of any kind behind a row's name. */
export function arraysOf({ opened }: OpenedFile): TensorFile<NpyArray> {
  return opened.file;
}

/** Opens one file, or the index and the shards of a model. */
export async function openFiles(files: readonly File[]): Promise<OpenedFile> {
  const [first] = files;
  const index = files.find(({ name }) => name.endsWith(".json"));
  if (first === undefined) throw new TensorjarError("invalid-argument", "no file was chosen");
  if (files.length === 1) return openFrom(first.name, async () => blobSource(first), noShard);
  if (index === undefined) {
    throw new TensorjarError(
      "invalid-argument",
      `${files.length} files were chosen, none of which is the index of a sharded model`,
      { hint: "choose one file, or a .safetensors.index.json with its shards" },
    );
  }
  const byName = new Map(files.map((file) => [file.name, file]));
  return openFrom(
    index.name,
    async () => blobSource(index),
    async (name) => {
      const shard = byName.get(name);
      return shard === undefined ? noShard(name) : blobSource(shard);
    },
  );
}

async function noShard(name: string): Promise<never> {
  throw new TensorjarError("not-found", `the shard ${JSON.stringify(name)} was not chosen`, {
    name,
    hint: "choose the index and all its shards together",
  });
}

/** Opens a file on a server, of which only ranges are asked for. */
export async function openUrl(address: string, signal: AbortSignal): Promise<OpenedFile> {
  let whole = false;
  const noticing: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (response.status === 200 && !isOpenRange(init)) whole = true;
    return response;
  };
  const at = (url: string) => httpSource(url, { fetch: noticing, signal });
  const url = new URL(address, document.baseURI).href;
  const opened = await openFrom(
    url,
    () => at(url),
    (name) => at(new URL(encodeURIComponent(name), url).href),
  );
  return { ...opened, remote: true, sentWhole: () => whole };
}

/** Whether a request is the one that only asks how long the file is. */
function isOpenRange(init: RequestInit | undefined): boolean {
  return new Headers(init?.headers).get("range") === "bytes=0-";
}

async function openFrom(
  label: string,
  openSource: () => Promise<ByteSource>,
  openShard: (name: string) => Promise<ByteSource>,
): Promise<OpenedFile> {
  const meter = new Meter();
  const sources: ByteSource[] = [];
  const measured = async (opening: Promise<ByteSource>): Promise<ByteSource> => {
    const source = await opening;
    sources.push(source);
    return metered(source, meter);
  };
  const close = async (): Promise<void> => {
    for (const source of sources) await source.close?.();
  };
  try {
    const source = await measured(openSource());
    const opened = await openByContent(label, source, (name) => measured(openShard(name)));
    const checkpoint = await checkpointOf(opened);
    return {
      label,
      opened,
      size: opened.kind === "sharded" ? undefined : source.size,
      rows: rowsOf(opened, Object.keys(checkpoint).length > 0),
      remote: false,
      sentWhole: () => false,
      meter,
      ...checkpoint,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** By its first bytes; where they tell nothing, by its name, so that the message says what is wrong with it. */
async function openByContent(
  label: string,
  source: ByteSource,
  openShard: (name: string) => Promise<ByteSource>,
): Promise<OpenedFile["opened"]> {
  const format = sniff(await source.read(0, Math.min(512, source.size)));
  const [, extension] = /\.(npy|npz|safetensors)$/i.exec(label.replace(/[?#].*/s, "")) ?? [];
  switch (format === "unknown" ? extension?.toLowerCase() : format) {
    case "npy":
      return { kind: "npy", file: await openNpy(source), source };
    case "npz":
    case "zip":
      return { kind: "npz", file: await openNpz(source), source };
    case "safetensors":
      return { kind: "safetensors", file: await openSafetensors(source), source };
    case "json": {
      if (source.size > longestIndex) throw tooLongIndex(source.size);
      const index = await source.read(0, source.size);
      return { kind: "sharded", file: await openShardedSafetensors(index, openShard) };
    }
    default:
      await open(source); // says what it is instead
      throw new TensorjarError("not-this-format", "this format cannot be shown");
  }
}

/** Bytes of an index that are taken at once: as many as a safetensors header may have. */
const longestIndex = 100_000_000;

function tooLongIndex(size: number): TensorjarError {
  return new TensorjarError("limit-exceeded", `an index of ${size} bytes is not read here`, {
    expected: longestIndex,
    actual: size,
  });
}

async function checkpointOf(
  opened: OpenedFile["opened"],
): Promise<Pick<OpenedFile, "checkpoint" | "checkpointFault">> {
  if (opened.kind === "npy" || opened.kind === "sharded") return {};
  const { file, source } = opened;
  const named =
    file.metadata.get("format") === "tensorjar-checkpoint" ||
    file.names.includes("checkpoint_version");
  if (!named) return {};
  try {
    return { checkpoint: await inspectCheckpoint(source) };
  } catch (error) {
    if (isTensorjarError(error)) return { checkpointFault: error };
    throw error;
  }
}

function rowsOf(opened: OpenedFile["opened"], isCheckpoint: boolean): Row[] {
  const { kind, file } = opened;
  const places = isCheckpoint ? placesOf(kind, file.names) : new Map<string, Place>();
  return byParameter(file.names, places).map((name): Row => {
    const place = places.get(name);
    const row: Row = place === undefined ? { name } : { name, place };
    const info = kind === "safetensors" ? file.tensors.get(name) : undefined;
    if (info !== undefined) {
      const { dtype, shape, begin, end } = info;
      row.info = { dtype, shape, byteLength: end - begin };
    }
    return row;
  });
}

/** The header of a row, read once. */
export async function infoOf(file: OpenedFile, row: Row): Promise<TensorInfo> {
  try {
    row.info ??= await file.opened.file.info(row.name);
    return row.info;
  } catch (error) {
    row.damaged = isTensorjarError(error);
    throw error;
  }
}
