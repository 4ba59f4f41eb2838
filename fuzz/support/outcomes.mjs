// How a fuzzer judges: an input is read or refused with a TensorjarError, in time. The first fault is printed with its
// input in hex, and ends the process.
import { isTensorjarError } from "@tensorjar/core";

/**
 * What `read` says of `bytes`, or the code of its TensorjarError. It may take `cpuLimit` microseconds of processor time,
 * which tells the same on a busy machine; a second try tells the input's cost from the engine's.
 */
export async function outcomeOf(what, bytes, read, cpuLimit = 1_000_000) {
  try {
    let { outcome, cpu } = await attempt(bytes, read);
    if (cpu > cpuLimit) ({ outcome, cpu } = await attempt(bytes, read));
    if (cpu > cpuLimit) throw new Error(`${cpu / 1000} ms of processor time`);
    return outcome;
  } catch (error) {
    console.error(`${what}: ${bytes && Buffer.from(bytes).toString("hex")}\n`, error);
    process.exit(1);
  }
}

async function attempt(bytes, read) {
  const before = process.cpuUsage();
  let outcome;
  try {
    outcome = await read(bytes);
  } catch (error) {
    if (!isTensorjarError(error)) throw error;
    outcome = error.code;
  }
  const { user, system } = process.cpuUsage(before);
  return { outcome, cpu: user + system };
}

/** Reads `count` inputs that `change` makes from `stream`, and prints how often each outcome was there. */
export async function readAll(what, { count, stream, cpuLimit }, change, read) {
  const times = new Map();
  for (let run = 0; run < count; run++) {
    const again = `--count 1 --seed ${stream.state}`;
    const outcome = await outcomeOf(`one of the ${what}, ${again}`, change(), read, cpuLimit);
    times.set(outcome, (times.get(outcome) ?? 0) + 1);
  }
  const told = [...times].sort(([, a], [, b]) => b - a).map(([outcome, n]) => `${n} ${outcome}`);
  console.log(`${count} ${what}: ${told.join(", ")}`);
}
