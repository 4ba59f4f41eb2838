import { describe, TensorjarError } from "./error.js";

/** Work of a known weight in bytes. */
export interface OrderedTask<T> {
  readonly bytes: number;
  run(): Promise<T>;
}

/** Bytes under way at once, besides one task that alone is larger: 64 MiB and headers, so that four of 16 MiB fit. */
const maxBytesAhead = 65 << 20;

/**
 * The results of `tasks` in their order; up to `concurrency` run at once, while their bytes stay within 65 MiB.
 * When one fails or the consumer stops, no further task starts. Throws `invalid-argument` for another concurrency.
 */
export async function* inOrder<T>(
  tasks: Iterable<OrderedTask<T>>,
  concurrency = 6,
): AsyncGenerator<T> {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new TensorjarError("invalid-argument", `concurrency is ${describe(concurrency)}`, {
      name: "concurrency",
      expected: "an integer of at least 1",
      actual: concurrency,
    });
  }
  const running: { bytes: number; result: Promise<T> }[] = [];
  let bytes = 0;
  for (const task of tasks) {
    let first = running[0];
    while (
      first !== undefined &&
      (running.length >= concurrency || bytes + task.bytes > maxBytesAhead)
    ) {
      running.shift();
      bytes -= first.bytes;
      yield await first.result;
      first = running[0];
    }
    const result = task.run();
    result.catch(() => {}); // reported when its turn comes; an earlier failure ends the iteration first
    running.push({ bytes: task.bytes, result });
    bytes += task.bytes;
  }
  for (let first = running.shift(); first !== undefined; first = running.shift())
    yield await first.result;
}
