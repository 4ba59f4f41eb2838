import { defineConfig } from "vite";

// Paths are relative, so that the built folder works wherever a server puts it. One script, also of what the packages
// import when they need it: nothing is fetched after the page has loaded, so that it works without a network.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    modulePreload: false,
    rolldownOptions: { output: { codeSplitting: false } },
  },
});
