import { build } from "esbuild";
await build({stdin:{contents:`export { ${process.argv[2]} } from "${process.argv[3]}";`,resolveDir:process.cwd()},bundle:true,minify:true,outfile:"/tmp/tj/out.js",format:"esm",platform:"browser",target:"es2022"});
