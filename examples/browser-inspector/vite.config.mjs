import { defineConfig } from "vite";

// Paths are relative, so that the built folder works wherever a server puts it. One script and no others: nothing is
// fetched after the page has loaded.
export default defineConfig({
  base: "./",
  build: { target: "es2022", modulePreload: false, assetsInlineLimit: 0 },
});
