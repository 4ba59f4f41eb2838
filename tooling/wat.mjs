// node tooling/wat.mjs: assembles each NAME.wat of packages/core/src into NAME-wasm.ts beside it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import wabt from "wabt";

const folder = new URL("../packages/core/src/", import.meta.url);

/** File → the text of the module that holds what its source is assembled to. */
export async function assembled() {
  const { parseWat } = await wabt();
  const names = readdirSync(folder).filter((name) => name.endsWith(".wat"));
  return new Map(
    names.map((file) => {
      const name = file.slice(0, -".wat".length);
      const parsed = parseWat(file, readFileSync(new URL(file, folder), "utf8"));
      const text = Buffer.from(parsed.toBinary({}).buffer).toString("base64");
      const module = `/** What \`${file}\` is assembled to, in base64; \`node tooling/wat.mjs\` makes it anew. */
export const ${name}Wasm =
  "${text}";
`;
      return [new URL(`${name}-wasm.ts`, folder), module];
    }),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, module] of await assembled()) writeFileSync(file, module);
}
