// The gzipped sizes that tooling/size.mjs holds to budgets, by part of target 21, in kB.
import { budgets, bundle, moduleOf } from "../tooling/bundle.mjs";

export async function gzippedSizes() {
  const sizes = {};
  for (const budget of budgets) {
    const { size } = await bundle(moduleOf(budget));
    sizes[`21 ${budget.names?.join(" + ") ?? "everything"}`] = size / 1000;
  }
  return sizes;
}
