import { expect, test } from "vitest";
import { expectError } from "../../../tooling/testing.js";
import { beside, fileSource } from "../src/platform.js";

test("in a browser shards lie beside the URL of their index", async () => {
  const index = "https://host.example/a/index.json";
  expect(beside(index, "m-1.safetensors")).toBe("https://host.example/a/m-1.safetensors");
  expect(beside(`${index}?x=a/b#c/d`, "50% #?")).toBe("https://host.example/a/50%25%20%23%3F");
  for (const text of ["blob:https://host.example/0-1", "data:application/json,%7B%7D"]) {
    await expectError(() => beside(text, "m-1.safetensors"), {
      code: "unsupported",
      names: ["m-1", "openShardedSafetensors"],
    });
  }
});

test.runIf(typeof document === "object")("in a page they lie beside its <base>", () => {
  const base = document.createElement("base");
  base.href = "https://host.example/app/";
  document.head.append(base);
  try {
    expect(beside("a/index.json", "m.npy")).toBe("https://host.example/app/a/m.npy");
  } finally {
    base.remove();
  }
});

test("in a browser a path is refused, without the secrets of what was one", async () => {
  const error = await expectError(() => fileSource("https://u:word@host.example/a?token=abc"), {
    code: "unsupported",
    names: ["host"],
  });
  expect(JSON.stringify([error.message, error.details])).not.toMatch(/word|abc/);
});
