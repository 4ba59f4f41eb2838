import * as checkpoint from "@tensorjar/checkpoint";
import * as core from "@tensorjar/core";
import * as npy from "@tensorjar/npy";
import * as npz from "@tensorjar/npz";
import * as safetensors from "@tensorjar/safetensors";
import * as tree from "@tensorjar/tree";
import { expect, test } from "vitest";
import * as tensorjar from "../src/index.js";

test("every public name of every package is here too", () => {
  const names = [checkpoint, core, npy, npz, safetensors, tree].flatMap(Object.keys);
  expect(Object.keys(tensorjar)).toEqual(expect.arrayContaining(names));
});
