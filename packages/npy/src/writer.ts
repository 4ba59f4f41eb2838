import {
  byteLength,
  type DType,
  dtypeInfo,
  type SinkLike,
  TensorjarError,
  type TensorOf,
} from "@tensorjar/core";
import { checkTensor, shapeText, tensorBytes, toBytes, toSink } from "@tensorjar/core/codec";
import { descrText } from "./descr-text.js";
import { encodeHeader } from "./header-text.js";

/** Appends rows to an .npy file that may be larger than memory. Calls may overlap: they take effect in their order. */
export interface NpyWriter<D extends DType> {
  /** Writes `rows`, of shape `[n, ...rowShape]`; its data must not change until this resolves. */
  append(rows: TensorOf<D>): Promise<void>;
  /** Sets the first axis, where it was not given, and closes the sink. */
  close(): Promise<void>;
  /** Gives the file up. */
  abort(reason?: unknown): Promise<void>;
}

const maxPiece = 64 << 20;

/**
 * Starts an .npy file of shape `[rows, ...rowShape]`. Without `rows` the first axis is what was appended, which needs
 * a sink that can `rewrite`, such as `fileSink`. Any failure aborts the sink.
 * Throws `invalid-argument`, `invalid-shape`, `invalid-dtype`, `unsupported`.
 */
export function createNpyWriter<D extends DType>(
  target: SinkLike,
  { dtype, rowShape, rows }: { dtype: D; rowShape: readonly number[]; rows?: number },
): NpyWriter<D> {
  const { bytes: itemSize } = dtypeInfo(dtype);
  const descr = descrText({ dtype, itemSize, byteOrder: "little" });
  byteLength(dtype, rowShape);
  const shape = [...rowShape]; // the caller's may change
  byteLength(dtype, [rows ?? 0, ...shape]);
  const header = encodeHeader(descr, [rows ?? 0, ...shape]);
  if (rows === undefined && !canRewrite(target)) {
    throw new TensorjarError(
      "invalid-argument",
      "the sink cannot rewrite, so the number of rows must be known before the first is written",
      { name: "rows", hint: "give rows, or write to fileSink(path)" },
    );
  }
  const sink = toSink(target);
  let written = 0;
  let started = false;
  let ended: { readonly reason: unknown } | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  /** Lets nothing more be done to a sink that was told to give the file up. */
  const checkGoing = (): void => {
    if (ended !== undefined) throw ended.reason;
  };

  const write = async (bytes: Uint8Array): Promise<void> => {
    const { length } = bytes; // which is 0 once a sink has transferred a part
    for (let at = 0; at < length; at += maxPiece) {
      await sink.write(toBytes(bytes).subarray(at, at + maxPiece));
      checkGoing();
    }
  };

  const start = async (): Promise<void> => {
    if (!started) await write(header);
    started = true;
  };

  const abort = async (reason: unknown): Promise<void> => {
    if (ended !== undefined) return;
    ended = { reason };
    await sink.abort?.(reason);
  };

  /** Runs `work` after all before it; when it fails, the file is given up. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = queue.then(async () => {
      checkGoing();
      try {
        await work();
      } catch (reason) {
        await abort(reason).catch(() => {}); // what went wrong first is what the caller needs to know
        throw reason;
      }
    });
    queue = turn.catch(() => {});
    return turn;
  };

  return {
    append: (tensor) => {
      return inTurn(async () => {
        const count = checkRows(tensor, dtype, shape);
        if (rows !== undefined && written + count > rows) {
          throw new TensorjarError(
            "invalid-argument",
            `${written + count} rows were appended, the file was started for ${rows}`,
            { expected: rows, actual: written + count },
          );
        }
        await start();
        await write(tensorBytes(tensor));
        written += count;
      });
    },
    close: () => {
      return inTurn(async () => {
        if (rows !== undefined && written !== rows) {
          throw new TensorjarError(
            "invalid-argument",
            `${written} of ${rows} rows were appended before the file was closed`,
            { expected: rows, actual: written },
          );
        }
        await start();
        if (rows === undefined && written > 0) {
          byteLength(dtype, [written, ...shape]);
          await sink.rewrite?.(0, encodeHeader(descr, [written, ...shape])); // as long as the first: its padding is for that
          checkGoing();
        }
        await sink.close();
        ended = { reason: closed() };
      });
    },
    abort,
  };
}

function canRewrite(target: unknown): boolean {
  return (
    typeof target === "object" &&
    target !== null &&
    "rewrite" in target &&
    typeof target.rewrite === "function"
  );
}

/** How many rows a tensor has. */
function checkRows<D extends DType>(
  tensor: TensorOf<D>,
  dtype: D,
  rowShape: readonly number[],
): number {
  checkTensor(tensor);
  const [count, ...rest] = tensor.shape;
  if (tensor.dtype !== dtype) {
    throw new TensorjarError("invalid-dtype", `rows of ${tensor.dtype} for a file of ${dtype}`, {
      expected: dtype,
      actual: tensor.dtype,
    });
  }
  if (
    count === undefined ||
    rest.length !== rowShape.length ||
    rest.some((dim, axis) => dim !== rowShape[axis])
  ) {
    throw new TensorjarError(
      "invalid-shape",
      `rows of shape ${shapeText(tensor.shape)} for a file whose rows are ${shapeText(rowShape)}`,
      { expected: rowShape, actual: tensor.shape, hint: "the first axis counts the rows" },
    );
  }
  return count;
}

function closed(): TensorjarError {
  return new TensorjarError("invalid-argument", "the writer is closed");
}
