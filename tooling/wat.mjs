// node tooling/wat.mjs: assembles packages/core/src/half.wat into half-wasm.ts beside it.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import wabt from "wabt";

const source = fileURLToPath(new URL("../packages/core/src/half.wat", import.meta.url));
export const target = fileURLToPath(new URL("../packages/core/src/half-wasm.ts", import.meta.url));

/** The text of the module that holds what the source is assembled to. */
export async function assembled() {
  const { parseWat } = await wabt();
  const parsed = parseWat("half.wat", readFileSync(source, "utf8"));
  const { buffer } = parsed.toBinary({});
  const text = Buffer.from(buffer).toString("base64");
  return `/** What \`half.wat\` is assembled to, in base64; \`node tooling/wat.mjs\` makes it anew. */
export const halfWasm =
  "${text}";
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(target, await assembled());
