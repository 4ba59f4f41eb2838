// A seeded stream of numbers (splitmix32), so that a fault can be run again.
import { parseArgs } from "node:util";

/** Numbers of the command line by their names: those of `defaults`, and `seed`. */
export function options(defaults) {
  const all = Object.entries({ seed: 1, ...defaults });
  const { values } = parseArgs({
    options: Object.fromEntries(all.map(([name]) => [name, { type: "string" }])),
  });
  return Object.fromEntries(all.map(([name, value]) => [name, Number(values[name] ?? value)]));
}

export function random(seed) {
  let state = seed >>> 0;
  /** An integer from 0 to `limit`, without it. */
  function below(limit) {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) % limit;
  }
  return {
    /** Starts the same stream when given as a seed. */
    get state() {
      return state;
    },
    below,
    /** One of `items`. */
    pick: (items) => items[below(items.length)],
  };
}
