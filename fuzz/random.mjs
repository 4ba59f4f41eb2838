// What the fuzzers share: a seeded stream of numbers (splitmix32), so that a fault can be run again.
import { parseArgs } from "node:util";

/** `--count N --seed S` of the command line. */
export function options(defaultCount) {
  const { values } = parseArgs({
    options: {
      count: { type: "string", default: String(defaultCount) },
      seed: { type: "string", default: "1" },
    },
  });
  return { count: Number(values.count), seed: Number(values.seed) };
}

export function random(seed) {
  let state = seed >>> 0;
  return {
    /** Starts the same stream when given as a seed. */
    get state() {
      return state;
    },
    /** An integer from 0 to `limit`, without it. */
    below(limit) {
      state = (state + 0x9e3779b9) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return ((z ^ (z >>> 15)) >>> 0) % limit;
    },
  };
}
