import { SingleBar } from "cli-progress";
import { byteText } from "./text.js";

/** Work that ends within this time, in milliseconds, shows no bar. */
const patience = 1000;

/** A progress bar on a terminal's standard error; nothing when piped, nothing for short work. */
export interface ProgressBar {
  /** Counts `bytes` more, of the tensor or member `name`. */
  add(bytes: number, name: string): void;
  stop(): void;
}

export function progressBar(total: number): ProgressBar {
  if (!process.stderr.isTTY) return { add: () => {}, stop: () => {} };
  const start = Date.now();
  let bar: SingleBar | undefined;
  let loaded = 0;
  return {
    add(bytes, name) {
      loaded += bytes;
      if (bar === undefined && Date.now() - start > patience) {
        bar = new SingleBar({
          format: "{bar} {percentage}%  {size}  {name}",
          clearOnComplete: true,
          hideCursor: true,
        });
        bar.start(total, loaded, { name, size: byteText(total) });
      }
      bar?.update(Math.min(loaded, total), { name });
    },
    stop: () => bar?.stop(),
  };
}
