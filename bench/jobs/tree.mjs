import { flattenTree, loadTree } from "@tensorjar/tree";

/** Layers of ten modules with ten arrays each. */
function model(leaves) {
  const layers = [];
  for (let made = 0; made < leaves; ) {
    const layer = {};
    for (let m = 0; m < 10 && made < leaves; m++) {
      const module = {};
      for (let a = 0; a < 10 && made < leaves; a++, made++) {
        module[`weight_${a}`] = { dtype: "float32", shape: [1], data: Float32Array.of(made) };
      }
      layer[`module_${m}`] = module;
    }
    layers.push(layer);
  }
  return { model: { layers } };
}

export function flatten({ leaves }) {
  const tree = model(leaves);
  return { run: () => flattenTree(tree) };
}

/** Of a tree that was never walked before. */
export function flattenOnce({ leaves }) {
  let tree;
  return {
    before() {
      tree = model(leaves);
    },
    run: () => flattenTree(tree),
  };
}

export function load({ leaves }) {
  const tree = model(leaves);
  const file = flattenTree(model(leaves));
  return { run: () => loadTree(tree, file) };
}

/** The least that flattening can cost: the names are ready, and as new to every Map as the paths of a tree are. */
export function fill({ leaves }) {
  const entries = [...flattenTree(model(leaves))];
  const text = JSON.stringify(entries.map(([name]) => name));
  const tensors = entries.map(([, tensor]) => tensor);
  let names;
  return {
    before() {
      names = JSON.parse(text);
    },
    run() {
      const map = new Map();
      for (let i = 0; i < names.length; i++) map.set(names[i], tensors[i]);
      return map;
    },
  };
}
