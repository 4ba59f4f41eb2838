// PyTorch's `model.load_state_dict(torch.load(path), strict=…)` and its two lists, ported.
import { isTensorjarError, type LoadReport, loadInto, type Problem } from "tensorjar";

export async function loadStateDict(
  model: object,
  path: string,
  { strict = true }: { strict?: boolean } = {},
): Promise<LoadReport> {
  try {
    return await loadInto(path, model, {
      mode: strict ? "strict" : "partial",
      rename: (name) => name.replace(/^module\./, ""),
    });
  } catch (error) {
    if (!isTensorjarError(error, "tree-mismatch")) throw error;
    const problems: readonly Problem[] = error.details.problems ?? [];
    const missing = problems.filter(({ kind }) => kind === "missing").map(({ path }) => path);
    throw new Error(`missing keys: ${missing.join(", ")}`, { cause: error });
  }
}
