import type { Plugin } from "vitest/config";

interface Mutant {
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** Takes out the one check that `TENSORJAR_MUTANT` names; `tooling/mutation.mjs` sets it. */
export function mutantPlugin(mutant: string | undefined): Plugin[] {
  if (mutant === undefined) return [];
  const { path, start, end, replacement }: Mutant = JSON.parse(mutant);
  return [
    {
      name: "mutant",
      enforce: "pre",
      transform: (code, id) =>
        id.endsWith(path) ? code.slice(0, start) + replacement + code.slice(end) : undefined,
    },
  ];
}
