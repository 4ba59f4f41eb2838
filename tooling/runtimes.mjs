/** What programs are tried on: the Node at hand, and others as npx calls them. `.ci/run` pins them too. */
export const runtimes = ["node", "node@24", "bun@1.4.5", "deno@2.9.6"];

/** The command that runs a program on a runtime. */
export function commandOf(runtime) {
  if (runtime === "node") return [process.execPath];
  return ["npx", "--yes", runtime, ...(runtime.startsWith("deno") ? ["run", "-A"] : [])];
}
