/** How a terminal, a job control or a closing window ends a program. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** How long work that was told to stop is waited for, in milliseconds: a server that does not answer may never let go. */
const patience = 2_000;

/** What is needed of Node's `process`. */
export interface Interrupted {
  readonly pid: number;
  once(name: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(name: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

/**
 * Runs `work` with an `AbortSignal` that the first such signal aborts, so that a file half written is taken back and the
 * terminal's cursor is shown again; then, or after two seconds, the process ends by that signal, as whoever waits for it
 * expects. The second one ends it at once.
 */
export async function interruptible(
  work: (signal: AbortSignal) => Promise<number>,
  process: Interrupted,
): Promise<number> {
  const stop = new AbortController();
  let received: NodeJS.Signals | undefined;
  let timer: NodeJS.Timeout | undefined;
  const letGo = (): void => {
    for (const signal of signals) process.off(signal, receive);
  };
  const receive = (signal: NodeJS.Signals): void => {
    received = signal;
    letGo();
    stop.abort();
    timer = setTimeout(() => process.kill(process.pid, signal), patience);
  };
  for (const signal of signals) process.once(signal, receive);
  try {
    return await work(stop.signal);
  } catch (error) {
    if (received === undefined) throw error;
    return 1;
  } finally {
    letGo();
    clearTimeout(timer);
    if (received !== undefined) process.kill(process.pid, received);
  }
}
