import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";
import { commands } from "./tooling/case-server.node.js";
import { chromiumOptions } from "./tooling/chromium.mjs";
import { mutantPlugin } from "./tooling/mutant-plugin.js";

// The condition under which packages resolve to their TypeScript sources, so that tests need no build.
const source = "tensorjar-source";
const common = ["module", "development|production"];
const tests = ["packages/*/test/**/*.test.ts", "tooling/test/**/*.test.ts"];

// CI asks for the numbers as well.
const json = process.env["VITEST_JSON"];

export default defineConfig({
  plugins: mutantPlugin(process.env["TENSORJAR_MUTANT"]),
  test: {
    reporters: json ? ["dot", ["json", { outputFile: json }]] : ["default"],
    expect: { requireAssertions: true },
    // Against hanging only: a busy machine must not fail a test.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        resolve: { conditions: [source, "node", ...common] },
        ssr: { resolve: { conditions: [source, "node", ...common] } },
        test: { name: "node", environment: "node", include: tests },
      },
      {
        extends: true,
        resolve: { conditions: [source, "browser", ...common] },
        optimizeDeps: { include: ["fast-check", "fflate"] },
        test: {
          name: "browser",
          include: tests,
          exclude: ["**/*.node.test.ts", "**/node_modules/**"],
          browser: {
            enabled: true,
            headless: true,
            commands,
            screenshotFailures: false,
            provider: playwright({ launchOptions: chromiumOptions }),
            instances: [{ browser: "chromium" }],
          },
        },
      },
      {
        extends: true,
        resolve: { conditions: [source, "node", ...common] },
        ssr: { resolve: { conditions: [source, "node", ...common] } },
        test: {
          name: "interop",
          environment: "node",
          include: ["interop/*.interop.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
