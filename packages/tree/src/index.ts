export {
  type DType,
  isTensorjarError,
  type Named,
  type Problem,
  type Tensor,
  type TensorjarError,
  type TensorOf,
  tensor,
} from "@tensorjar/core";
export { flattenTree, flattenTreeAsync } from "./flatten.js";
export { buffer, type LeafAdapter, type LeafKind, parameter } from "./leaf.js";
export { type LoadOptions, type LoadReport, loadTree } from "./load.js";
export { mapTree, rebuildTree } from "./rebuild.js";
export { unflattenTree } from "./unflatten.js";
export { type TreeOptions, treeNode, type Visitor, visitTree } from "./visit.js";
